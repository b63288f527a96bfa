// *Agents*: agent files with their state; a broken one opens at the line.
import * as vscode from "vscode";
import type { Context } from "../context";
import { escapeLine } from "../core/escape";
import { Reading } from "../core/reading";
import { agents, type AgentListing } from "../protocol";
import { folderPaths } from "../folders";
import { Tree } from "./tree";

export type AgentNode =
  { readonly kind: "agent"; readonly agent: AgentListing } | { readonly kind: "untrusted"; readonly dir: string };

const icons: Readonly<Record<AgentListing["state"], vscode.ThemeIcon>> = {
  ok: new vscode.ThemeIcon("hubot"),
  stale: new vscode.ThemeIcon("warning", new vscode.ThemeColor("list.warningForeground")),
  invalid: new vscode.ThemeIcon("error", new vscode.ThemeColor("list.errorForeground")),
  shadowed: new vscode.ThemeIcon("eye-closed"),
};

export class AgentTree extends Tree<AgentNode> {
  private nodes: readonly AgentNode[] = [];
  private readonly reading = new Reading(() => this.list().catch((problem: unknown) => this.context.log.warn(String(problem))));

  constructor(private readonly context: Context) {
    super();
    context.register(
      context.daemon.onState(({ kind }) => kind === "connected" && this.read()),
      context.daemon.onConfigChanged(() => this.read()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.read()),
    );
  }

  /** Asks for the agents of each folder, and of the user, and once more where they change while it asks. */
  read(): void {
    this.reading.again();
  }

  getChildren(node?: AgentNode): AgentNode[] {
    return node ? [] : [...this.nodes];
  }

  getTreeItem(node: AgentNode): vscode.TreeItem {
    return node.kind === "agent" ? agentItem(node.agent) : untrustedItem(node.dir);
  }

  private async list(): Promise<void> {
    if (this.context.daemon.state.kind !== "connected") {
      return;
    }
    const asked = folderPaths().map((cwd) => ({ cwd }));
    const lists = await Promise.all(
      (asked.length > 0 ? asked : [{}]).map((params) => this.context.daemon.request(agents.list, params)),
    );
    const found = new Map(lists.flatMap(({ items }) => items).map((agent) => [agent.path, agent]));
    const untrusted = new Set(lists.flatMap((list) => list.untrusted));
    this.nodes = [
      ...[...untrusted].map((dir): AgentNode => ({ kind: "untrusted", dir })),
      ...[...found.values()].map((agent): AgentNode => ({ kind: "agent", agent })),
    ];
    this.refresh();
  }
}

function agentItem(agent: AgentListing): vscode.TreeItem {
  const first = agent.diagnostics.find((diagnostic) => diagnostic.severity === 1);
  const about = first === undefined ? agent.description : `line ${first.range.start.line + 1}: ${first.message}`;
  const item = new vscode.TreeItem(escapeLine(agent.slug));
  item.id = agent.path;
  item.description = [...(agent.state === "ok" ? [] : [agent.state]), escapeLine(about)].filter(Boolean).join(" · ");
  item.tooltip = [item.description, escapeLine(agent.path)].join("\n");
  item.iconPath = icons[agent.state];
  item.contextValue = agent.state === "ok" || agent.state === "stale" ? "agent startable" : "agent";
  item.command = { command: "abey.openAgent", title: "Open Agent File", arguments: [agent] };
  item.accessibilityInformation = { label: `${escapeLine(agent.slug)}, ${agent.state}, ${escapeLine(about)}` };
  return item;
}

function untrustedItem(dir: string): vscode.TreeItem {
  const item = new vscode.TreeItem("This folder’s agents are not read");
  item.id = `untrusted:${dir}`;
  item.description = `${escapeLine(dir)} is not trusted`;
  item.tooltip = `${escapeLine(dir)} is not trusted: an agent runs programs as you`;
  item.iconPath = new vscode.ThemeIcon("shield");
  item.contextValue = "untrusted";
  item.command = { command: "abey.trust", title: "Trust", arguments: [{ dir }] };
  return item;
}
