// The colours of VS Code's own themes that the page uses, for a page without VS Code around it.
const fonts = "--vscode-font-family: 'DejaVu Sans', sans-serif; --vscode-font-size: 13px; --vscode-editor-font-family: 'DejaVu Sans Mono', monospace; --vscode-editor-font-size: 12px;";

const theme = (colours: Readonly<Record<string, string>>): string =>
  fonts + Object.entries(colours).map(([name, colour]) => `--vscode-${name}: ${colour};`).join("");

export const themes = {
  dark: theme({
    foreground: "#ccc", "editor-background": "#1f1f1f", descriptionForeground: "#9d9d9d", focusBorder: "#0078d4", "panel-border": "#2b2b2b",
    "badge-foreground": "#f8f8f8", "badge-background": "#616161", "button-foreground": "#fff", "button-background": "#0078d4", "button-hoverBackground": "#026ec1",
    "button-secondaryForeground": "#ccc", "button-secondaryBackground": "#313131", "button-secondaryHoverBackground": "#3c3c3c", "button-border": "#ffffff12",
    "input-background": "#313131", "input-foreground": "#ccc", "input-border": "#3c3c3c", "input-placeholderForeground": "#989898", "dropdown-background": "#313131",
    "dropdown-foreground": "#ccc", "dropdown-border": "#3c3c3c", "textLink-foreground": "#4daafc", "textCodeBlock-background": "#2b2b2b", "textPreformat-foreground": "#d0d0d0",
    "textBlockQuote-border": "#616161", "list-hoverBackground": "#2a2d2e", "editorWidget-background": "#202020", "widget-border": "#313131", errorForeground: "#f85149",
    "editorWarning-foreground": "#cca700", "inputValidation-errorBackground": "#5a1d1d", "inputValidation-errorBorder": "#be1100",
    "statusBarItem-warningForeground": "#fff", "statusBarItem-warningBackground": "#7a6400", "statusBarItem-errorForeground": "#fff", "statusBarItem-errorBackground": "#b91007",
  }),
  light: theme({
    foreground: "#3b3b3b", "editor-background": "#fff", descriptionForeground: "#3b3b3b", focusBorder: "#005fb8", "panel-border": "#e5e5e5",
    "badge-foreground": "#3b3b3b", "badge-background": "#ccc", "button-foreground": "#fff", "button-background": "#005fb8", "button-hoverBackground": "#0258a8",
    "button-secondaryForeground": "#3b3b3b", "button-secondaryBackground": "#e5e5e5", "button-secondaryHoverBackground": "#ccc", "button-border": "#0000001a",
    "input-background": "#fff", "input-foreground": "#3b3b3b", "input-border": "#cecece", "input-placeholderForeground": "#767676", "dropdown-background": "#fff",
    "dropdown-foreground": "#3b3b3b", "dropdown-border": "#cecece", "textLink-foreground": "#005fb8", "textCodeBlock-background": "#f8f8f8", "textPreformat-foreground": "#3b3b3b",
    "textBlockQuote-border": "#e5e5e5", "list-hoverBackground": "#f2f2f2", "editorWidget-background": "#f8f8f8", "widget-border": "#e5e5e5", errorForeground: "#f85149",
    "editorWarning-foreground": "#bf8803", "inputValidation-errorBackground": "#f2dede", "inputValidation-errorBorder": "#be1100",
    "statusBarItem-warningForeground": "#fff", "statusBarItem-warningBackground": "#725102", "statusBarItem-errorForeground": "#fff", "statusBarItem-errorBackground": "#c72e0f",
  }),
  contrast: theme({
    foreground: "#fff", "editor-background": "#000", descriptionForeground: "#ffffffb3", focusBorder: "#f38518", contrastBorder: "#6fc3df", "panel-border": "#6fc3df",
    "badge-foreground": "#fff", "badge-background": "#000", "button-foreground": "#fff", "button-background": "#000", "button-border": "#6fc3df",
    "button-secondaryForeground": "#fff", "button-secondaryBackground": "#000", "input-background": "#000", "input-foreground": "#fff", "input-border": "#6fc3df",
    "input-placeholderForeground": "#ffffffb3", "dropdown-background": "#000", "dropdown-foreground": "#fff", "dropdown-border": "#6fc3df", "textLink-foreground": "#21a6ff",
    "textPreformat-foreground": "#fff", "textBlockQuote-border": "#fff", "editorWidget-background": "#0c141f", "widget-border": "#6fc3df", errorForeground: "#f48771",
    "editorWarning-foreground": "#ffd370", "inputValidation-errorBackground": "#000", "inputValidation-errorBorder": "#6fc3df",
    "statusBarItem-warningForeground": "#fff", "statusBarItem-warningBackground": "#000", "statusBarItem-errorForeground": "#fff", "statusBarItem-errorBackground": "#000",
  }),
} as const;

export type Theme = keyof typeof themes;
