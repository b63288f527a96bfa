// The container `abey`: three trees, and what is said outside of them.
import * as vscode from "vscode";
import type { Context } from "../context";
import { isWanted } from "../daemon/start";
import { AgentTree } from "./agents";
import { keepNotifying } from "./notifier";
import { PendingTree } from "./pending";
import { SessionTree } from "./sessions";
import { keepStatus } from "./status";

/** Ages grow without an event. */
const ageMs = 60_000;

export function registerViews(context: Context): void {
  const trees = {
    pending: new PendingTree(context),
    sessions: new SessionTree(context),
    agents: new AgentTree(context),
  };
  const pending = vscode.window.createTreeView("abey.pending", { treeDataProvider: trees.pending });
  const sessions = vscode.window.createTreeView("abey.sessions", { treeDataProvider: trees.sessions });
  const agents = vscode.window.createTreeView("abey.agents", { treeDataProvider: trees.agents });
  const refresh = (): void => {
    trees.pending.refresh();
    trees.sessions.refresh();
  };
  const timer = setInterval(refresh, ageMs);
  // Where there was nothing to show when the window was opened, somebody may have begun something elsewhere since
  const look = ({ visible }: vscode.TreeViewVisibilityChangeEvent): void => {
    if (visible && context.daemon.state.kind === "idle" && isWanted()) {
      void context.sessions.load();
    }
  };
  context.register(
    ...Object.values(trees),
    ...[pending, sessions, agents],
    ...[pending, sessions, agents].map((view) => view.onDidChangeVisibility(look)),
    context.sessions.onChange(refresh),
    vscode.workspace.onDidChangeWorkspaceFolders(refresh),
    { dispose: () => clearInterval(timer) },
  );
  keepStatus(context, pending);
  keepNotifying(context, [pending, sessions, agents]);
}
