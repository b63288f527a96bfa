// The badge and the status bar item.
import * as vscode from "vscode";
import type { Context } from "../context";
import type { DaemonState } from "../core/daemon";
import { escapeLabel, escapeMessage } from "../core/escape";
import { backText, statusText } from "../core/wording";

const shownMs = 5000;

export function keepStatus(context: Context, view: vscode.TreeView<unknown>): void {
  const item = vscode.window.createStatusBarItem("abey.status", vscode.StatusBarAlignment.Left);
  item.name = "Abey";
  const show = (): void => {
    const { waitingCount: count, running } = context.sessions;
    view.badge = count === 0 ? undefined : { value: count, tooltip: `${count} waiting for a decision` };
    const text = statusText(count, running, context.daemon.state);
    item.text = text ?? "";
    const { state } = context.daemon;
    const why = state.kind === "lost" ? state.why : state.kind === "connecting" ? state.again : undefined;
    item.command = why !== undefined ? "abey.log" : count > 0 ? "abey.pending" : "abey.sessions.focus";
    item.tooltip = why === undefined ? text : escapeLabel(`${why}; it is tried again, and a click shows the log`);
    if (text === undefined) {
      item.hide();
    } else {
      item.show();
    }
  };
  show();
  sayWhenBack(context);
  context.register(item, context.sessions.onChange(show), context.daemon.onState(show));
}

/** A daemon that went and is there again, or another one, is worth a word for a moment. */
function sayWhenBack({ daemon, register }: Context): void {
  let build: string | undefined;
  let lost = false;
  const told = (state: DaemonState): void => {
    if (state.kind === "connected") {
      const { text, another } = backText(build, state.build);
      if (another) {
        void vscode.window.showInformationMessage(escapeMessage(`Abey: ${text}`));
      } else if (lost) {
        vscode.window.setStatusBarMessage(`Abey: ${text}`, shownMs);
      }
      build = state.build;
    }
    lost = state.kind === "lost" || (lost && state.kind === "connecting");
  };
  register(daemon.onState(told));
}
