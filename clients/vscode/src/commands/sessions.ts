// Open, search, fork, rewind, export: what there is to do with a session besides driving it.
import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Context } from "../context";
import { cut, escapeLabel, escapeMessage } from "../core/escape";
import { pointsOf } from "../core/points";
import { age, errorText } from "../core/wording";
import { openSession } from "../panel/open";
import { agents } from "../protocol";
import { chooseSession, sessionPick } from "./choosing";
import { folderPaths } from "../folders";
import { record, text } from "../core/given";

const typingMs = 150;
const textShown = 80;

export function registerSessions(context: Context): void {
  const on = (id: string, placeHolder: string, run: (sessionId: string, given: unknown) => Promise<unknown>): void =>
    context.command(id, async (given) => {
      const sessionId = await chooseSession(context, given, placeHolder);
      return sessionId === undefined ? undefined : run(sessionId, given);
    });
  on("abey.open", "The session to open", openSession);
  on("abey.fork", "The session to fork", (sessionId, given) => fork(context, sessionId, given));
  on("abey.rewind", "The session to rewind", (sessionId, given) => rewind(context, sessionId, given));
  on("abey.export", "The session to export", (sessionId, given) => exportMarkdown(context, sessionId, given));
  on("abey.journal", "The session whose journal to open", (sessionId) => openJournal(context, sessionId));
  context.command("abey.search", (given) => search(context, given));
  context.command("abey.showMore", () => context.sessions.loadMore());
  context.command("abey.refresh", () => context.sessions.load());
}

/** Params of agents/sessions are answered with what is found; else words, asked while they are typed, to begin with. */
async function search(context: Context, given: unknown): Promise<unknown> {
  return text(given, "query") === undefined
    ? pickFound(context, typeof given === "string" ? given : "")
    : context.daemon.request(agents.sessions, record(given));
}

/** In titles and texts, as the daemon finds them. */
async function pickFound(context: Context, words: string): Promise<unknown> {
  const picker = vscode.window.createQuickPick<ReturnType<typeof sessionPick>>();
  picker.placeholder = "Words that stand in the session";
  picker.value = words;
  let timer: NodeJS.Timeout | undefined;
  let asked = 0;
  const look = async (): Promise<void> => {
    const mine = ++asked;
    picker.busy = true;
    const query = picker.value.trim();
    const found = await context.daemon.request(agents.sessions, query === "" ? { limit: 50 } : { query, limit: 50 });
    if (mine === asked) {
      picker.busy = false;
      // The daemon has found them; VS Code's own filter would look at titles alone
      picker.items = found.items.map((session) => ({ ...sessionPick(session), alwaysShow: true }));
    }
  };
  const soon = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => look().catch(context.failed), typingMs);
  };
  picker.onDidChangeValue(soon);
  const picked = new Promise<string | undefined>((resolve) => {
    picker.onDidAccept(() => resolve(picker.selectedItems[0]?.sessionId));
    picker.onDidHide(() => resolve(undefined));
  });
  picker.show();
  look().catch(context.failed);
  const sessionId = await picked;
  clearTimeout(timer);
  picker.dispose();
  return sessionId === undefined ? undefined : openSession(sessionId);
}

async function fork(context: Context, sessionId: string, given: unknown): Promise<unknown> {
  const { at, title } = record(given) as { at?: unknown; title?: unknown };
  const session = await context.daemon.request(agents.fork, {
    sessionId,
    idempotencyKey: randomUUID(),
    ...(typeof at === "number" ? { at } : {}),
    ...(typeof title === "string" && record(given)["kind"] !== "session" ? { title } : {}),
  });
  context.sessions.saw(session);
  await openSession(session.sessionId);
  return session;
}

/** Nothing is erased: a rewind is undone by another one, so nobody is asked twice. */
async function rewind(context: Context, sessionId: string, given: unknown): Promise<unknown> {
  const known = record(given)["to"];
  const to = typeof known === "number" ? known : await choosePoint(context, sessionId);
  if (to === undefined) {
    return undefined;
  }
  const session = await context.daemon.request(agents.rewind, { sessionId, to, idempotencyKey: randomUUID() });
  context.sessions.saw(session);
  await openSession(sessionId);
  return session;
}

async function choosePoint(context: Context, sessionId: string): Promise<number | undefined> {
  const points = pointsOf(await context.daemon.request(agents.transcript, { sessionId }));
  const picks = points.reverse().map(({ text: said, at, revision }) => ({
    label: escapeLabel(cut(said, textShown)),
    description: `revision ${revision}, ${age(at, Date.now())}`,
    revision,
  }));
  return (await vscode.window.showQuickPick(picks, { placeHolder: "Back to right after" }))?.revision;
}

async function exportMarkdown(context: Context, sessionId: string, given: unknown): Promise<unknown> {
  const folder = folderPaths()[0] ?? homedir();
  const path =
    text(given, "path") ??
    (
      await vscode.window.showSaveDialog({
        defaultUri: vscode.Uri.file(join(folder, `${sessionId}.md`)),
        filters: { Markdown: ["md"] },
      })
    )?.fsPath;
  if (path === undefined) {
    return undefined;
  }
  const result = await context.daemon.request(agents.export, { sessionId, format: "markdown", path });
  if (result.note !== undefined) {
    void vscode.window.showInformationMessage(escapeMessage(`Abey: ${result.note}`));
  }
  await vscode.window.showTextDocument(vscode.Uri.file(result.path));
  return result;
}

async function openJournal(context: Context, sessionId: string): Promise<void> {
  const { daemon } = await context.daemon.request(agents.status, {});
  const uri = vscode.Uri.file(join(daemon.stateDir, "sessions", sessionId, "journal.jsonl"));
  try {
    await vscode.window.showTextDocument(uri, { preview: true });
  } catch (problem) {
    throw new Error(`the journal cannot be opened: ${errorText(problem)}`);
  }
}
