// The panels of sessions, as the rest of the extension opens them.
import * as vscode from "vscode";
import type { Context } from "../context";
import { Kept } from "./kept";
import { registerOutputs } from "./outputs";
import { SessionPanel, viewType } from "./panel";

const show = "abey.showPanel";

const panels = new Map<string, SessionPanel>();

export function registerPanel(context: Context): void {
  const kept = new Kept(context.extension.workspaceState);
  const adopt = (sessionId: string, panel: vscode.WebviewPanel): void => {
    const own = new SessionPanel(context, sessionId, panel, kept, openSession);
    panels.set(sessionId, own);
    panel.onDidDispose(() => {
      panels.delete(sessionId);
      own.dispose();
    });
  };
  const open = (sessionId: string): void => {
    const there = panels.get(sessionId);
    if (there === undefined) {
      kept.forgetPlace(sessionId);
      adopt(sessionId, vscode.window.createWebviewPanel(viewType, "Session", vscode.ViewColumn.Active));
    } else {
      there.reveal();
    }
  };
  registerOutputs(context);
  context.command(show, (sessionId) => open(String(sessionId)));
  context.register(vscode.window.registerWebviewPanelSerializer(viewType, { deserializeWebviewPanel: restorer(adopt) }));
  context.register({ dispose: () => panels.forEach((panel) => panel.dispose()) });
}

/** One panel for each session: the one that is there is shown. */
export async function openSession(sessionId: string): Promise<void> {
  await vscode.commands.executeCommand(show, sessionId);
}

/** The session whose panel is the active tab: commands of the palette are about it. */
export function shownSession(): string | undefined {
  return [...panels.values()].find((panel) => panel.active)?.sessionId;
}

/** After a reload of the window: the page has kept which session it was, and where in it. */
function restorer(
  adopt: (sessionId: string, panel: vscode.WebviewPanel) => void,
): (panel: vscode.WebviewPanel, state: unknown) => Promise<void> {
  return async (panel, state) => {
    const sessionId = (state as { sessionId?: unknown } | undefined)?.sessionId;
    if (typeof sessionId === "string" && sessionId !== "" && !panels.has(sessionId)) {
      adopt(sessionId, panel);
    } else {
      panel.dispose();
    }
  };
}
