// Elements. Text comes in as text nodes alone, so that nothing of it is ever read as HTML.

type Child = Node | string | false | undefined;
type Attributes = Readonly<Record<string, string | boolean | undefined>>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    set(element, name, value);
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false && child !== ""));
  return element;
}

/** True is an attribute without a value, false and nothing are no attribute. */
export function set(element: HTMLElement, name: string, value: string | boolean | undefined): void {
  if (value === undefined || value === false) {
    element.removeAttribute(name);
  } else {
    element.setAttribute(name, value === true ? "" : value);
  }
}

export function button(text: string, attributes: Attributes, clicked: () => void): HTMLButtonElement {
  const element = h("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", clicked);
  return element;
}

/** A button, with the other way of the same in its menu. */
export function split(first: HTMLButtonElement, other: HTMLButtonElement): HTMLElement {
  const summary = h("summary", { "aria-label": `Besides ${first.textContent}` }, "▾");
  return h("span", { class: "split" }, first, h("details", { class: "other" }, summary, h("div", { class: "menu" }, other)));
}
