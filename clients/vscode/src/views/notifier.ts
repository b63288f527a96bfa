// The one notification for all that waits: in the window whose folder it is about, while nothing of ours is visible.
import * as vscode from "vscode";
import { folderPaths } from "../folders";
import type { Context } from "../context";
import { Notices, noticeText } from "../core/notices";

export function keepNotifying(context: Context, views: readonly vscode.TreeView<unknown>[]): void {
  const notices = new Notices();
  let open = false;
  const look = async (): Promise<void> => {
    const { sessions } = context;
    const visible = open || views.some((view) => view.visible) || isTabVisible();
    const calls = notices.next(sessions.waiting(), folderPaths(), visible);
    if (calls.length === 0) {
      return;
    }
    open = true;
    const text = noticeText(calls, (sessionId) => sessions.get(sessionId)?.title ?? sessionId);
    const answer = await vscode.window.showInformationMessage(text, "Review");
    open = false;
    if (answer === "Review") {
      await vscode.commands.executeCommand("abey.pending", calls);
    }
  };
  context.register(context.sessions.onChange(() => void look()));
}

/** A session or a review in front of somebody. */
function isTabVisible(): boolean {
  return vscode.window.tabGroups.all.some(({ activeTab }) => {
    const input = activeTab?.input;
    if (input instanceof vscode.TabInputWebview) {
      return input.viewType.includes("abey");
    }
    const uri =
      input instanceof vscode.TabInputText
        ? input.uri
        : input instanceof vscode.TabInputTextDiff
          ? input.modified
          : undefined;
    return uri?.scheme.startsWith("abey") ?? false;
  });
}
