// Start Session, with or without what is selected, and the demo.
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Context } from "../context";
import { escapeLabel } from "../core/escape";
import { isInside } from "../core/locate";
import { agents, type AgentListing, type Part, type Session, type StartParams } from "../protocol";
import { openSession } from "../panel/open";
import { demoAgent, demoPrompt } from "./demo";
import { askPrompt } from "./driving";
import { chooseFolder, folderPaths, temporaryFolder } from "../folders";
import { agentOf, record, text } from "../core/given";

type Agent = Pick<StartParams, "agent" | "agentFile" | "config">;

export function registerStarting(context: Context): void {
  context.command("abey.start", (given) => start(context, given, []));
  context.command("abey.startWithSelection", (given, ...more) => startWith(context, given, more));
  context.command("abey.demo", () => startDemo(context));
}

async function start(context: Context, given: unknown, parts: readonly Part[]): Promise<Session | undefined> {
  const own = startParams(given);
  if (own.agentFile !== undefined && !vscode.workspace.isTrusted && isInside(own.agentFile, folderPaths())) {
    // To name a file is to trust it, which in restricted mode is VS Code's to ask
    await vscode.commands.executeCommand("workbench.trust.manage");
    return undefined;
  }
  const cwd = own.cwd ?? (await chooseFolder());
  if (cwd === undefined) {
    return undefined;
  }
  const agent = agentGiven(own) ?? (await chooseAgent(context, cwd));
  if (agent === undefined) {
    return undefined;
  }
  const prompt = own.prompt ?? (own.parts === undefined ? await askPrompt("What is to be done") : undefined);
  if (prompt === undefined && own.parts === undefined) {
    return undefined;
  }
  const said = prompt === undefined ? {} : { prompt };
  const all = [...parts, ...(own.parts ?? [])];
  return created(context, { ...own, ...agent, ...said, ...(all.length > 0 ? { parts: all } : {}), cwd });
}

/** The selection as a text part, a file that was named (in the Explorer, or the active one) as itself. */
async function startWith(context: Context, given: unknown, more: readonly unknown[]): Promise<Session | undefined> {
  const editor = vscode.window.activeTextEditor;
  const named = given instanceof vscode.Uri ? [given, ...chosenUris(more[0])] : [];
  const uris = [...new Map(named.map((uri) => [uri.toString(), uri])).values()];
  const own = given instanceof vscode.Uri ? {} : given;
  if (uris.length === 0 && editor !== undefined && !editor.selection.isEmpty) {
    const path = vscode.workspace.asRelativePath(editor.document.uri);
    const { start: from, end } = editor.selection;
    const where = `${path}, lines ${from.line + 1} to ${end.line + 1}:`;
    return start(context, own, [{ kind: "text", text: `${where}\n\n${editor.document.getText(editor.selection)}` }]);
  }
  const files = uris.length > 0 ? uris : editor === undefined ? [] : [editor.document.uri];
  return start(
    context,
    own,
    files.filter(({ scheme }) => scheme === "file").map(({ fsPath }) => ({ kind: "file", path: fsPath })),
  );
}

/** With the embedded model: no key, no file, and a folder of its own where this window has none. */
async function startDemo(context: Context): Promise<Session> {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  const cwd = folder?.uri.scheme === "file" ? folder.uri.fsPath : await temporaryFolder();
  return created(context, { config: demoAgent, prompt: demoPrompt, cwd, title: "Demo", run: "turn", wait: false });
}

async function created(context: Context, asked: StartParams): Promise<Session> {
  const session = await context.daemon.request(agents.start, { idempotencyKey: randomUUID(), ...asked });
  context.sessions.saw(session);
  await openSession(session.sessionId);
  return session;
}

async function chooseAgent(context: Context, cwd: string): Promise<Agent | undefined> {
  const { items, untrusted } = await context.daemon.request(agents.list, { cwd });
  const usable = items.filter(({ state }) => state === "ok" || state === "stale");
  const picks = [
    ...usable.map((agent) => ({ ...agentPick(agent), agent: agent.slug })),
    ...(untrusted.length > 0
      ? [{ label: "Trust this folder…", detail: "its agents are not read before", dir: untrusted[0] }]
      : []),
    { label: "Demo agent", detail: "the embedded model: no key, no network", config: demoAgent },
    { label: "New agent…", detail: "writes an agent file to begin with", command: "abey.newAgent" },
  ];
  const picked: Partial<Agent> & { dir?: string | undefined; command?: string } =
    (await vscode.window.showQuickPick(picks, { placeHolder: "The agent of the session" })) ?? {};
  if (picked.dir !== undefined) {
    await vscode.commands.executeCommand("abey.trust", { dir: picked.dir });
    return chooseAgent(context, cwd);
  }
  if (picked.command !== undefined) {
    await vscode.commands.executeCommand(picked.command);
  }
  return agentGiven(picked);
}

function agentPick(agent: AgentListing): vscode.QuickPickItem {
  const state = agent.state === "stale" ? "the last good version of a broken file" : "";
  return { label: escapeLabel(agent.slug), description: state, detail: escapeLabel(agent.description) };
}

/** Exactly one of them, as agents/start has it. */
function agentGiven({ agent, agentFile, config }: Partial<Agent>): Agent | undefined {
  return agent !== undefined
    ? { agent }
    : agentFile !== undefined
      ? { agentFile }
      : config !== undefined
        ? { config }
        : undefined;
}

/** Params as they are; the row of an agent names its file's slug, or the file. */
function startParams(given: unknown): StartParams {
  const listed = agentOf(given);
  if (listed !== undefined) {
    return { agentFile: listed.path };
  }
  return typeof given === "string" ? { agent: given } : text(given, "fsPath") === undefined ? record(given) : {};
}

function chosenUris(given: unknown): readonly vscode.Uri[] {
  return Array.isArray(given) ? given.filter((each): each is vscode.Uri => each instanceof vscode.Uri) : [];
}
