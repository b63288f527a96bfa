// Every command by its argument: it asks nothing that the argument has said.
import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Context } from "../../src/context";
import { agents, type Pending, type Session, type SessionsResult, type StepResult } from "../../src/protocol";
import { patienceMs } from "../support/until";
import type { Case } from "./commands";

/** A session whose calls wait, and the first of them. */
interface About {
  readonly sessionId: string;
  readonly call: Pending;
  /** Of its input. */
  readonly revision: number;
  readonly folder: string;
}

type Form = (about: About) => unknown;

const session: Form = ({ sessionId }) => sessionId;
const token: Form = ({ call }) => call.token;
const shown: Form = ({ call: { token: of, argumentsHash } }) => ({ token: of, argumentsHash });
const nothing: Form = () => undefined;

/** Those that answer with what came of it. */
const answering: Readonly<Record<string, Form>> = {
  approve: shown,
  approveAndContinue: shown,
  cancel: session,
  complete: ({ call }) => ({ token: call.token, outcome: { kind: "result", content: "mine" } }),
  demo: nothing,
  deny: token,
  doctor: nothing,
  explain: ({ sessionId }) => ({ sessionId, tool: "bash_command", arguments: { command: "date" } }),
  export: ({ sessionId, folder }) => ({ sessionId, path: join(folder, "out.md") }),
  fork: ({ sessionId, revision }) => ({ sessionId, at: revision }),
  interrupt: ({ sessionId }) => ({ sessionId, prompt: "first", run: "none" }),
  newAgent: () => ({ slug: `formed-${Date.now()}` }),
  pause: session,
  resume: session,
  rewind: ({ sessionId, revision }) => ({ sessionId, to: revision }),
  rules: ({ sessionId }) => ({ action: "list", sessionId }),
  run: session,
  search: () => ({ query: "argument forms" }),
  send: ({ sessionId }) => ({ sessionId, prompt: "more", run: "none" }),
  start: ({ folder }) => ({ agent: "asking", prompt: "go", cwd: folder }),
  startWithSelection: ({ folder }) => ({ agent: "asking", prompt: "go", cwd: folder }),
  step: session,
  stop: ({ sessionId }) => ({ sessionId, confirmed: true }),
  trust: ({ folder }) => ({ dir: folder }),
};

/** Those that show something, or are about the tab in front, which is none of theirs here. */
const showing: Readonly<Record<string, Form>> = {
  approveEdited: nothing,
  approveEditedAndContinue: nothing,
  approveReview: nothing,
  approveReviewAndContinue: nothing,
  denyReview: nothing,
  editArguments: token,
  editReview: nothing,
  journal: session,
  log: nothing,
  open: session,
  openAgent: ({ folder }) => ({ path: join(folder, "none.json") }),
  pending: ({ call }) => [call],
  refresh: nothing,
  review: token,
  reviewDetails: nothing,
  showMore: nothing,
  walkthrough: nothing,
};

/** What they do is not to be done here: a terminal, another daemon, another window. */
const elsewhere = ["install", "restartDaemon", "wsl"];

async function about(context: Context): Promise<About> {
  const folder = mkdtempSync(join(tmpdir(), "abey-host-"));
  const asked = { agent: "asking", prompt: "argument forms", cwd: folder };
  const { sessionId } = await context.daemon.request(agents.start, { ...asked, run: "step" });
  const { session: now } = (await context.daemon.request(agents.step, { sessionId })) as StepResult;
  const { items } = await context.daemon.request(agents.transcript, { sessionId });
  const [[call], [input]] = [now.pending, items];
  assert.ok(call && input);
  return { sessionId, call, revision: input.revision, folder };
}

/** A question would stand for ever. */
async function answered(verb: string, given: unknown): Promise<unknown> {
  const asking = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`abey.${verb} asks something`)), patienceMs).unref();
  });
  return Promise.race([vscode.commands.executeCommand(`abey.${verb}`, given), asking]);
}

async function everyForm(context: Context): Promise<void> {
  const manifest = vscode.extensions.getExtension("abey.abey")?.packageJSON as {
    readonly contributes: { readonly commands: readonly { readonly command: string }[] };
  };
  const formed = [...Object.keys(answering), ...Object.keys(showing), ...elsewhere].map((verb) => `abey.${verb}`);
  assert.deepEqual([...formed].sort(), manifest.contributes.commands.map(({ command }) => command).sort());
  for (const [verb, form] of Object.entries(answering)) {
    const answer = await answered(verb, form(await about(context)));
    assert.notEqual(answer, undefined, `abey.${verb} did nothing`);
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  }
  for (const [verb, form] of Object.entries(showing)) {
    await answered(verb, form(await about(context)));
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  }
}

async function searched(context: Context): Promise<void> {
  const { sessionId } = await about(context);
  const search = (given: object): Thenable<SessionsResult> => vscode.commands.executeCommand("abey.search", given);
  const found = (await search({ query: "argument forms", limit: 1 })).items.map((each: Session) => each.sessionId);
  assert.deepEqual(found, [sessionId]);
  assert.deepEqual((await search({ query: "nowheretobefound" })).items, []);
}

export const forms: readonly Case[] = [
  ["no command asks what its argument has said", everyForm],
  ["a search that is given its words answers what is found", searched],
];
