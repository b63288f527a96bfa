// Agent files: a new one, opening one, and the trust of their folder.
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import * as vscode from "vscode";
import agentTemplate from "../../../../cli/abey_cli/agent.jsonc";
import scriptedModel from "../../../../cli/abey_cli/model_scripted.jsonc";
import type { Context } from "../context";
import { escapeMessage } from "../core/escape";
import { configDir } from "../core/locate";
import { agents, type Diagnostic } from "../protocol";
import { folderPaths } from "../folders";
import { agentOf, text } from "../core/given";

const slugForm = /^[0-9a-z][0-9a-z_-]{0,63}$/;

export function registerAgents(context: Context): void {
  context.command("abey.newAgent", (given) => newAgent(given));
  context.command("abey.openAgent", (given) => openAgent(given));
  context.command("abey.trust", (given) => trust(context, given));
}

/** `{slug, folder?}`: the file is in the `.abey` of the folder, or among the user's own. */
async function newAgent(given: unknown): Promise<string | undefined> {
  const slug =
    text(given, "slug") ??
    (await vscode.window.showInputBox({
      title: "The name of the agent",
      prompt: "Letters, digits, - and _",
      validateInput: (value) => (slugForm.test(value) ? undefined : "Small letters, digits, - and _; at most 64"),
    }));
  if (slug === undefined || !slugForm.test(slug)) {
    return undefined;
  }
  const folder = text(given, "folder") ?? (text(given, "slug") === undefined ? await chooseHome() : ownFolder());
  if (folder === undefined) {
    return undefined;
  }
  const path = join(folder, `${slug}.json`);
  await mkdir(dirname(path), { recursive: true });
  // One that is there is kept
  await writeFile(path, agentText(slug), { flag: "wx" });
  await vscode.window.showTextDocument(vscode.Uri.file(path));
  return path;
}

export function agentText(slug: string): string {
  return agentTemplate
    .replace('"$SLUG"', JSON.stringify(slug))
    .replace('"$MODEL"', scriptedModel.trim().replace('"$PROVIDER"', '"scripted"'));
}

function ownFolder(): string {
  return join(configDir(process.env, homedir()), "agents");
}

async function chooseHome(): Promise<string | undefined> {
  const trusted = vscode.workspace.isTrusted ? folderPaths() : [];
  const picks = [
    { label: "For me", detail: ownFolder(), folder: ownFolder() },
    ...trusted.map((path) => ({
      label: "For this folder",
      detail: join(path, ".abey", "agents"),
      folder: join(path, ".abey", "agents"),
    })),
  ];
  return picks.length === 1
    ? picks[0]?.folder
    : (await vscode.window.showQuickPick(picks, { placeHolder: "Whose agent" }))?.folder;
}

/** At its first error, where it has one. */
async function openAgent(given: unknown): Promise<void> {
  const agent = agentOf(given);
  const path = agent?.path ?? text(given, "path");
  if (path === undefined) {
    return;
  }
  const first = agent?.diagnostics.find(({ severity }) => severity === 1) ?? agent?.diagnostics[0];
  const at = first && range(first);
  await vscode.window.showTextDocument(vscode.Uri.file(path), at === undefined ? {} : { selection: at });
}

function range({ range: { start, end } }: Diagnostic): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

/** Of a window in restricted mode VS Code asks, for the window as a whole; else the daemon is told of the folder. */
async function trust(context: Context, given: unknown): Promise<unknown> {
  if (!vscode.workspace.isTrusted) {
    return vscode.commands.executeCommand("workbench.trust.manage");
  }
  const dir = text(given, "dir") ?? (await vscode.window.showWorkspaceFolderPick())?.uri.fsPath;
  if (dir === undefined) {
    return undefined;
  }
  const result = await context.daemon.request(agents.trust, { action: "add", dir });
  void vscode.window.showInformationMessage(escapeMessage(`Abey: ${dir} is trusted; its agents are read from now on`));
  return result;
}
