// *Waiting for you*: one row a call.
import * as vscode from "vscode";
import type { Context } from "../context";
import { escapeLine } from "../core/escape";
import { callRow, callWords, type CallRow } from "../core/waiting";
import { age } from "../core/wording";
import { Tree } from "./tree";

const icons: Readonly<Record<string, string>> = { question: "question", external: "person", uncertain: "warning" };

export class PendingTree extends Tree<CallRow> {
  constructor(private readonly context: Context) {
    super();
  }

  getChildren(row?: CallRow): CallRow[] {
    const { sessions } = this.context;
    return row ? [] : sessions.waiting().map((call) => callRow(call, sessions.get(call.sessionId)));
  }

  getTreeItem(row: CallRow): vscode.TreeItem {
    const { call, label } = row;
    const title = escapeLine(this.context.sessions.get(call.sessionId)?.title ?? call.sessionId);
    const item = new vscode.TreeItem(label);
    item.id = call.token;
    item.description = `${title} · ${age(call.createdAt, Date.now())}`;
    item.tooltip = [
      label,
      "",
      `in ${escapeLine(call.cwd)}`,
      `because: ${escapeLine(call.reason)}`,
      `session: ${title}`,
    ].join("\n");
    item.iconPath = new vscode.ThemeIcon(icons[call.kind] ?? "bell-dot");
    item.contextValue = callWords(row);
    item.command = { command: "abey.review", title: "Review", arguments: [row] };
    item.accessibilityInformation = { label: `${label}, waits in ${title}; Enter reviews it` };
    return item;
  }
}
