// *Sessions*: by what they need.
import { homedir } from "node:os";
import * as vscode from "vscode";
import type { Context } from "../context";
import { cut, escapeLine } from "../core/escape";
import { activityOf, groupNames, groupOf, groups, sessionWords, type Group } from "../core/grouping";
import { homely } from "../core/home";
import { isInside } from "../core/locate";
import { usageText } from "../core/session-view";
import { age, costText, stateText } from "../core/wording";
import type { Session } from "../protocol";
import { Tree } from "./tree";

export type SessionNode =
  | { readonly kind: "group"; readonly group: Group; readonly sessions: readonly Session[] }
  | { readonly kind: "session"; readonly group: Group; readonly sessionId: string; readonly session: Session }
  | { readonly kind: "more" };

const icons: Readonly<Record<Group, string>> = {
  waiting: "bell-dot",
  running: "sync~spin",
  ready: "debug-step-over",
  completed: "check",
  closed: "circle-slash",
};
const titleShown = 100;
const parentShown = 40;

export class SessionTree extends Tree<SessionNode> {
  constructor(private readonly context: Context) {
    super();
  }

  getChildren(node?: SessionNode): SessionNode[] {
    if (node === undefined) {
      return this.roots();
    }
    return node.kind === "group" ? node.sessions.map((session) => this.row(session, node.group)) : [];
  }

  getTreeItem(node: SessionNode): vscode.TreeItem {
    switch (node.kind) {
      case "group":
        return groupItem(node.group, node.sessions.length);
      case "session":
        return this.sessionItem(node.session, node.group);
      case "more":
        return moreItem();
    }
  }

  private roots(): SessionNode[] {
    const found = new Map<Group, Session[]>(groups.map((group) => [group, []]));
    for (const session of this.context.sessions.all().filter((each) => !each.archived)) {
      found.get(groupOf(session, this.activity(session)))?.push(session);
    }
    const shown = [...found].filter(([, sessions]) => sessions.length > 0);
    return [
      ...shown.map(([group, sessions]): SessionNode => ({ kind: "group", group, sessions })),
      ...(this.context.sessions.hasMore ? [{ kind: "more" } as const] : []),
    ];
  }

  private row(session: Session, group: Group): SessionNode {
    return { kind: "session", group, sessionId: session.sessionId, session };
  }

  private activity(session: Session): Session["activity"] {
    return activityOf(session, this.context.sessions.summary(session.sessionId));
  }

  /** Of a child the session that it works for. */
  private above({ parent }: Session): readonly string[] {
    return parent === undefined ? [] : [`for ${escapeLine(cut(this.context.sessions.get(parent)?.title ?? parent, parentShown))}`];
  }

  private sessionItem(session: Session, group: Group): vscode.TreeItem {
    const title = escapeLine(cut(session.title, titleShown));
    const state = stateText({ ...session, activity: this.activity(session) });
    const folder = elsewhere(session.cwd);
    const described = [
      state,
      ...folder,
      escapeLine(session.agent),
      ...this.above(session),
      age(session.updatedAt, Date.now()),
      costText(session),
    ];
    const item = new vscode.TreeItem(title);
    item.id = session.sessionId;
    item.description = described.join(" · ");
    item.tooltip = [title, ...described, usageText(session), escapeLine(session.cwd), session.sessionId].join("\n");
    item.iconPath = new vscode.ThemeIcon(session.lastError && group === "ready" ? "error" : icons[group]);
    item.contextValue = sessionWords(session, group, this.activity(session));
    item.command = { command: "abey.open", title: "Open Session", arguments: [session.sessionId] };
    item.accessibilityInformation = { label: `${title}, ${described.join(", ")}` };
    return item;
  }
}

function groupItem(group: Group, count: number): vscode.TreeItem {
  const over = group === "closed";
  const state = over ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.Expanded;
  const item = new vscode.TreeItem(groupNames[group], state);
  item.id = `group:${group}`;
  item.description = String(count);
  item.contextValue = "group";
  return item;
}

function moreItem(): vscode.TreeItem {
  const item = new vscode.TreeItem("Show older sessions");
  item.id = "more";
  item.command = { command: "abey.showMore", title: "Show Older Sessions" };
  return item;
}

/** The folder, where it is not one of this window's. */
function elsewhere(cwd: string): readonly string[] {
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  return isInside(cwd, folders) ? [] : [escapeLine(homely(cwd, homedir()))];
}
