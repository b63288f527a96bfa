// Every command by its argument form, in the extension host: what a keybinding, a task or another extension can do.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Context } from "../../src/context";
import {
  agents,
  type CompleteResult,
  type Part,
  type Pending,
  type RulesResult,
  type Session,
  type SendResult,
  type StepResult,
} from "../../src/protocol";
import { until } from "../support/until";

export type Case = readonly [name: string, run: (context: Context) => Promise<void>];

const run = <R>(verb: string, ...given: readonly unknown[]): Thenable<R> =>
  vscode.commands.executeCommand(`abey.${verb}`, ...given);

async function start(context: Context): Promise<Session> {
  const cwd = mkdtempSync(join(tmpdir(), "abey-host-"));
  const session = await run<Session>("start", { agent: "asking", prompt: "go", cwd });
  assert.equal(context.sessions.get(session.sessionId)?.title, "go");
  return session;
}

/** Two calls wait in it. */
async function waiting(context: Context): Promise<{ sessionId: string; calls: readonly Pending[] }> {
  const { sessionId } = await start(context);
  await run<StepResult>("step", sessionId);
  const { session } = await run<StepResult>("step", { sessionId });
  assert.equal(session.pending.length, 2);
  return { sessionId, calls: session.pending };
}

function first(calls: readonly Pending[]): Pending {
  const [call] = calls;
  assert.ok(call);
  return call;
}

function tabsOf(type: string): readonly vscode.Tab[] {
  const all = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
  return all.filter(({ input }) => input instanceof vscode.TabInputWebview && input.viewType.endsWith(type));
}

async function get(context: Context, sessionId: string): Promise<Session> {
  return (await context.daemon.request(agents.get, { sessionId })).session;
}

export const commands: readonly Case[] = [
  [
    "a session is started, stepped, and its call approved by the hash that was shown",
    async (context) => {
      const { calls, sessionId } = await waiting(context);
      const { token, argumentsHash } = first(calls);
      const result = await run<CompleteResult>("approve", { token, argumentsHash, wait: true });
      assert.deepEqual([result.applied, result.resolution.kind], [true, "approve"]);
      const late = await run<CompleteResult>("deny", { token });
      assert.deepEqual([late.applied, late.resolution.by], [false, "VS Code"]);
      assert.equal((await get(context, sessionId)).pending.length, 1);
    },
  ],
  [
    "without the hash, and with another one, nothing is approved",
    async (context) => {
      const { calls, sessionId } = await waiting(context);
      const { token } = first(calls);
      await run("approve", token);
      await run("approve", { token });
      assert.equal(await run("approve", { token, argumentsHash: "0".repeat(64) }), undefined);
      assert.equal((await get(context, sessionId)).pending.length, 2);
    },
  ],
  [
    "edited arguments are what runs",
    async (context) => {
      const { calls, sessionId } = await waiting(context);
      const { token, argumentsHash, callId } = first(calls);
      await run("approve", { token, argumentsHash, arguments: { command: "echo edited" }, wait: true });
      const { data } = await context.daemon.request(agents.output, { sessionId, callId });
      assert.equal(data, "edited\n");
    },
  ],
  [
    "a call is denied with words, and another completed with a result",
    async (context) => {
      const { calls, sessionId } = await waiting(context);
      await run("deny", { token: calls[0]?.token, message: "not now" });
      await run("complete", { token: calls[1]?.token, outcome: { kind: "result", content: "mine" } });
      const { items } = await context.daemon.request(agents.transcript, { sessionId });
      const ended = items.flatMap(({ call }) =>
        call === undefined ? [] : [[call.state, call.decision?.message, call.output]],
      );
      assert.deepEqual([ended[0]?.slice(0, 2), ended[1]?.[2]], [["denied", "not now"], "mine"]);
    },
  ],
  [
    "a session is paused, resumed, and sent to",
    async (context) => {
      const { sessionId } = await start(context);
      assert.ok((await run<Session>("pause", { sessionId, reason: "lunch" })).paused);
      const { session } = await run<StepResult>("resume", sessionId);
      assert.deepEqual([session.paused, session.drivenBy], [undefined, "run"]);
      const queued = await run<SendResult>("send", { sessionId, prompt: "more", delivery: "queue", run: "none" });
      assert.equal(queued.position, 1);
      const next = await run<SendResult>("interrupt", { sessionId, prompt: "first", run: "none" });
      assert.equal(next.position, 1);
      assert.equal((await run<{ applied: boolean }>("cancel", sessionId)).applied, true);
    },
  ],
  [
    "a row that is gone while it is clicked is about nothing, and not about what is in front",
    async (context) => {
      const { sessionId, revision } = await start(context);
      await run("open", sessionId);
      await until("its panel is in front", () => vscode.window.tabGroups.activeTabGroup.activeTab?.label === "go");
      assert.equal(await run("step", undefined, undefined), undefined);
      assert.equal((await get(context, sessionId)).revision, revision);
      assert.notEqual((await run<StepResult>("step")).session.revision, revision);
    },
  ],
  [
    "a session is forked, taken back, and closed for good",
    async (context) => {
      const { sessionId } = await waiting(context);
      const { items } = await context.daemon.request(agents.transcript, { sessionId });
      const to = items.find(({ kind }) => kind === "input")?.revision;
      const forked = await run<Session>("fork", { sessionId, at: to, title: "another" });
      assert.deepEqual([forked.forkedFrom, forked.title], [sessionId, "another"]);
      const back = await run<Session>("rewind", { sessionId, to });
      assert.deepEqual([back.state, back.pending], ["userTurn", []]);
      await run("stop", { sessionId, confirmed: true });
      assert.equal((await get(context, sessionId)).state, "stopped");
    },
  ],
  [
    "a session is exported, its journal opened, its policy explained, the doctor asked",
    async (context) => {
      const { sessionId, calls } = await waiting(context);
      const path = join(mkdtempSync(join(tmpdir(), "abey-host-")), "out.md");
      await run("export", { sessionId, path });
      assert.ok(existsSync(path));
      assert.equal(vscode.window.activeTextEditor?.document.uri.fsPath, path);
      await run("journal", sessionId);
      assert.match(
        vscode.window.activeTextEditor?.document.uri.fsPath ?? "",
        new RegExp(`${sessionId}/journal.jsonl$`),
      );
      const { tool, arguments: given } = first(calls);
      await run("explain", { sessionId, tool, arguments: given });
      assert.match(
        vscode.window.activeTextEditor?.document.getText() ?? "",
        /^bash_command .*\n {2}defer \(approval required\)\n/,
      );
      await run("doctor");
      assert.match(vscode.window.activeTextEditor?.document.getText() ?? "", /ok {6}\w+: /);
    },
  ],
  [
    "rules are listed, added and removed without a question",
    async (context) => {
      const { sessionId } = await start(context);
      const rule = { tool: "bash_command", match: { "/command": "date" }, disposition: "runSync", scope: "session" } as const;
      const added = await run<RulesResult>("rules", { action: "add", sessionId, rule });
      assert.deepEqual(added.items.map(({ tool, scope }) => [tool, scope]), [["bash_command", "session"]]);
      const ruleId = added.items[0]?.ruleId;
      assert.deepEqual((await run<RulesResult>("rules", { action: "list", sessionId })).items, added.items);
      assert.deepEqual((await run<RulesResult>("rules", { action: "remove", sessionId, ruleId })).items, []);
    },
  ],
  [
    "a session is started with what is selected, else with the file",
    async (context) => {
      const cwd = mkdtempSync(join(tmpdir(), "abey-host-"));
      const file = join(cwd, "notes.txt");
      writeFileSync(file, "one\ntwo\nthree\n");
      const said = async (given: object | vscode.Uri): Promise<readonly unknown[]> => {
        const { sessionId } = await run<Session>("startWithSelection", given);
        const { items } = await context.daemon.request(agents.transcript, { sessionId });
        return items[0]?.parts ?? [];
      };
      await vscode.window.showTextDocument(vscode.Uri.file(file));
      const prompt = { kind: "text", text: "look" };
      const [, whole] = await said({ agent: "asking", prompt: "look", cwd });
      assert.deepEqual([(whole as Part).kind, String((whole as { readonly path?: string }).path).endsWith("notes.txt")], ["file", true]);
      await vscode.window.showTextDocument(vscode.Uri.file(file), { selection: new vscode.Range(1, 0, 1, 3) });
      const parts = await said({ agent: "asking", prompt: "look", cwd });
      assert.deepEqual(parts[0], prompt);
      assert.match(String((parts[1] as { readonly text?: string }).text), /notes\.txt, lines 2 to 2:\n\ntwo$/);
    },
  ],
  [
    "what waits is shown, and of what waits no more who answered",
    async (context) => {
      const { calls } = await waiting(context);
      const call = first(calls);
      await run("pending", [call]);
      await until("its review is open", () => tabsOf("abey.review").length === 1);
      await run("deny", { token: call.token });
      await until("it is closed", () => tabsOf("abey.review").length === 0);
      await run("pending", [call]);
      assert.equal(tabsOf("abey.review").length, 0);
    },
  ],
  [
    "the log, the walkthrough and a session are shown",
    async (context) => {
      const { sessionId } = await start(context);
      await run("open", sessionId);
      await until("its panel is open", () => tabsOf("abey.session").length === 1);
      await run("log");
      await run("walkthrough");
    },
  ],
  [
    "the daemon is restarted, and what waited waits",
    async (context) => {
      const before = await context.daemon.request(agents.status, {});
      const { sessionId } = await waiting(context);
      await run("restartDaemon");
      const after = await context.daemon.request(agents.status, {});
      assert.notEqual(after.daemon.pid, before.daemon.pid);
      await until("they wait again", () => context.sessions.get(sessionId)?.pending.length === 2);
    },
  ],
];
