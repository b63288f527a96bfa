import assert from "node:assert/strict";
import { test } from "node:test";
import { AbeyError } from "../../src/core/daemon";
import { Followings } from "../../src/core/following";
import type { CallRow, Frame, FromPage, PageState } from "../../src/core/page";
import { PanelModel } from "../../src/core/panel-model";
import { rowView } from "../../src/core/row-view";
import { sessionView } from "../../src/core/session-view";
import type { Item, ItemCall, Pending } from "../../src/protocol";
import { pageOf } from "../../src/panel/html";
import { Kept } from "../../src/panel/kept";
import { LongSession, session, sessionId, turns } from "../support/long-session";
import { until } from "../support/until";

const at = "2026-11-29T18:21:14.510Z";
const methods = new Set(["step", "run", "continue", "pause", "resume", "cancel", "send", "fork", "rewind"].map((verb) => `agents/${verb}`));

interface Played {
  readonly frames: Frame[];
  readonly did: string[];
  readonly model: PanelModel;
  say(message: FromPage): void;
  /** The next frame; it is painted at once. */
  next(): Promise<Frame>;
}

function play(long: LongSession): Played {
  const frames: Frame[] = [];
  const did: string[] = [];
  const model = new PanelModel(long.daemon, new Followings(long.daemon), sessionId, {
    post: (frame) => frames.push(frame),
    openReview: (token) => did.push(`review ${token}`),
    openSession: (id) => did.push(`session ${id}`),
    openOutput: (callId) => did.push(`output ${callId}`),
    openLink: (href) => did.push(`link ${href}`),
    keep: () => did.push("keep"),
    titled: () => undefined,
  });
  let seen = 0;
  const next = async (): Promise<Frame> => {
    const frame = await until(`frame ${seen + 1}`, () => frames[seen]);
    seen += 1;
    model.receive({ kind: "painted", n: frame.n });
    return frame;
  };
  return { frames, did, model, say: (message) => model.receive(message), next };
}

const inserted = (frame: Frame): readonly string[] =>
  frame.ops.flatMap((op) => (op.kind === "splice" ? op.rows.map((row) => row.id) : []));

test("a page is told the newest items and the session at once, then only what changes", async () => {
  const long = new LongSession(turns(100));
  const { say, next, model } = play(long);
  say({ kind: "ready" });
  const first = await next();
  assert.deepEqual([first.reset, first.ops.length, inserted(first).length, first.hasMore], [true, 1, 50, true]);
  assert.equal(first.session?.status, "turn 1 answered");
  long.tell({ type: "item/delta", itemId: "now.0", kind: "answer", offset: 0, text: "He" }, true);
  const second = await next();
  assert.deepEqual([second.reset, inserted(second), second.session], [false, ["now.0"], undefined]);
  long.tell({ type: "item/delta", itemId: "now.0", kind: "answer", offset: 2, text: "llo\u202e" }, true);
  assert.deepEqual((await next()).ops, [{ kind: "append", id: "now.0", text: "llo\\u202e" }]);
  model.dispose();
});

test("many events between two frames are one post", async () => {
  const long = new LongSession(turns(10));
  const { say, next, frames, model } = play(long);
  say({ kind: "ready" });
  await until("a frame", () => frames[0]);
  for (let n = 0; n < 20; n += 1) {
    long.tell({ type: "item/delta", itemId: "now.0", kind: "answer", offset: n, text: "x" }, true);
  }
  await new Promise((done) => setImmediate(done));
  assert.equal(frames.length, 1);
  await next();
  const op = (await next()).ops[0];
  assert.equal(op?.kind === "splice" && op.rows[0]?.kind === "answer" ? op.rows[0].text : "", "x".repeat(20));
  model.dispose();
});

test("a page that comes back is shown the place that it was at, in one frame", async () => {
  const long = new LongSession(turns(300));
  const { say, next, model } = play(long);
  say({ kind: "ready", anchor: "100.0" });
  const frame = await next();
  assert.ok(inserted(frame).includes("100.0"));
  assert.equal(frame.reset, true);
  model.dispose();
});

test("so is one that comes before the daemon does", async () => {
  const long = new LongSession(turns(300));
  long.daemon.state = { kind: "connecting" };
  const { say, next, model } = play(long);
  say({ kind: "ready", anchor: "100.0" });
  const frame = await next();
  assert.deepEqual([frame.reset, inserted(frame).includes("100.0")], [true, true]);
  model.dispose();
});

test("all that is older is read for who wants the beginning", async () => {
  const long = new LongSession(turns(300));
  const { say, next, model } = play(long);
  say({ kind: "ready" });
  await next();
  say({ kind: "older", all: true });
  const frame = await next();
  assert.deepEqual([inserted(frame).length, frame.hasMore, model.counts.rows], [1450, false, 1500]);
  model.dispose();
});

test("what no event tells is read", async () => {
  const long = new LongSession(turns(10));
  const { say, next, model } = play(long);
  say({ kind: "ready" });
  await next();
  long.items.splice(10);
  long.tell({ type: "note", text: "went back to revision 20", to: 20 });
  const ids = await until("the rewind", async () => ((await next()).ops.length > 0 ? model.counts.rows : undefined));
  assert.equal(ids, 10);
  model.dispose();
});

test("inputs that others have sent are shown as they begin, each asked about once", async () => {
  const long = new LongSession(turns(2));
  const { say, next, model } = play(long);
  say({ kind: "ready" });
  await next();
  const queued = [{ inputId: "i", delivery: "queue" }, { inputId: "j", delivery: "interrupt" }] as const;
  long.queuedTexts = { i: "from a\u202e terminal" };
  long.tell({ type: "session/updated", session: session({ queued }) });
  long.tell({ type: "session/updated", session: session({ queued, revision: 10_001 }) });
  const shown = await until("its words", async () => {
    const { session: view } = await next();
    return view?.queued[0]?.text === "an input of another client" ? undefined : view?.queued;
  });
  assert.deepEqual(shown, [
    { inputId: "i", delivery: "queue", text: "from a\\u202e terminal" },
    { inputId: "j", delivery: "interrupt", text: "an input of another client" },
  ]);
  assert.equal(long.daemon.asked.filter(({ method }) => method === "agents/transcript").length, 1);
  model.dispose();
});

test("what happened that no row shows is a notice, with nothing in it that hides", async () => {
  const long = new LongSession(turns(2));
  const { say, next, model } = play(long);
  say({ kind: "ready" });
  await next();
  const lastError = { kind: "tripwire", message: "no\u202e keys", at };
  long.tell({ type: "tripwire", extension: "guard", scope: "step", message: "no\u202e keys" });
  long.tell({ type: "session/updated", session: session({ lastError }) });
  const notices = await until("the extension", async () => {
    const { session: view } = await next();
    return view?.notices[0]?.includes("guard") ? view.notices : undefined;
  });
  assert.deepEqual(notices, ["the extension guard ended it: no\\u202e keys"]);
  model.dispose();
});

test("what the page asks for is asked of the daemon", async () => {
  const long = new LongSession(turns(1), session({ drivenBy: "run" }));
  const { say, next, did, model } = play(long);
  say({ kind: "ready" });
  await next();
  long.daemon.asked.length = 0;
  say({ kind: "verb", verb: "step" });
  say({ kind: "verb", verb: "run" });
  say({ kind: "send", inputId: "i", text: "more", delivery: "interrupt", run: "turn" });
  say({ kind: "rewind", to: { revision: 10 } });
  say({ kind: "review", token: "t" });
  say({ kind: "link", href: "command:abey.approve" });
  say({ kind: "link", href: "https://example.org" });
  assert.deepEqual(long.daemon.asked, [
    { method: "agents/step", params: { sessionId } },
    { method: "agents/run", params: { sessionId, wait: false } },
    { method: "agents/send", params: { sessionId, inputId: "i", prompt: "more", delivery: "interrupt", run: "turn", wait: false } },
    { method: "agents/rewind", params: { sessionId, to: 10 } },
  ]);
  assert.deepEqual(did, ["review t", "link https://example.org"]);
  assert.deepEqual((await until("a receipt", async () => ((await next()).receipts.length > 0 ? true : undefined))), true);
  model.dispose();
});

test("an approval carries the hash of what was shown, and goes on or not as its button says", async () => {
  const long = new LongSession(turns(1), session({ drivenBy: "run" }));
  const { say, next, model } = play(long);
  say({ kind: "ready" });
  await next();
  const approved = { token: "t", argumentsHash: "h", outcome: { kind: "approve" }, wait: false };
  for (const resume of [true, false]) {
    say({ kind: "approve", token: "t", argumentsHash: "h", resume });
    assert.deepEqual(long.daemon.asked.at(-1), { method: "agents/complete", params: { ...approved, resume } });
  }
  say({ kind: "deny", token: "t" });
  const denied = { token: "t", outcome: { kind: "deny" }, resume: true, wait: false };
  assert.deepEqual(long.daemon.asked.at(-1), { method: "agents/complete", params: denied });
  model.dispose();
});

test("a session is forked and taken back to where its calls had results, as the daemon says where that was", async () => {
  const long = new LongSession(turns(3));
  long.results = { call2: 25 };
  const { say, next, did, model } = play(long);
  say({ kind: "ready" });
  await next();
  long.daemon.asked.length = 0;
  say({ kind: "fork", at: { resultsOf: "call2" } });
  await until("the fork", () => did[0]);
  say({ kind: "rewind", to: { resultsOf: "call2" } });
  await until("the rewind", () => long.daemon.asked[3]);
  const asked = { method: "agents/transcript", params: { sessionId, limit: 1, before: "step2b.0" } };
  assert.deepEqual(long.daemon.asked, [
    asked,
    { method: "agents/fork", params: { sessionId, at: 25 } },
    asked,
    { method: "agents/rewind", params: { sessionId, to: 25 } },
  ]);
  say({ kind: "rewind", to: { resultsOf: "call3" } });
  const { trouble } = await until("why not", async () => {
    const frame = await next();
    return frame.trouble === "" ? undefined : frame;
  });
  assert.equal(trouble, "not all of the calls that were asked for with this one have results");
  assert.equal(long.daemon.asked.length, 5);
  model.dispose();
});

test("what no row shows is told again to who opens the session later", async () => {
  const lastError = { kind: "tripwire", message: "no keys", at };
  const long = new LongSession(turns(2), session({ lastError }));
  const event = { type: "tripwire", extension: "gu\u202eard", scope: "step", message: "no keys" };
  long.past = [{ type: "turn/started", turnId: "t", n: 1 }, event, { type: "turn/completed", turnId: "t", n: 1 }];
  const { say, next, model } = play(long);
  say({ kind: "ready" });
  const notices = await until("the extension", async () => {
    const { session: view } = await next();
    return view?.notices[0]?.includes("the extension") ? view.notices : undefined;
  });
  assert.deepEqual(notices, ["the extension gu\\u202eard ended it: no keys"]);
  assert.deepEqual(
    long.daemon.asked.filter(({ method }) => method === "agents/events"),
    [{ method: "agents/events", params: { sessionId, after: 0, limit: 100 } }],
  );
  model.dispose();
});

test("who was slower than somebody else is told so, and a call that has changed is shown", async () => {
  const long = new LongSession(turns(1));
  const { say, next, did, model } = play(long);
  say({ kind: "ready" });
  await next();
  long.completing = { applied: false, resolution: { kind: "deny", by: "ada", at, text: "denied by ada" }, turnComplete: true, session: session() };
  say({ kind: "deny", token: "t" });
  assert.equal((await next()).trouble, "already answered: denied by ada");
  long.completing = new AbeyError(-31006, "arguments/mismatch", "what would run is not what was shown");
  say({ kind: "approve", token: "t", argumentsHash: "h", resume: false });
  await until("the review", () => did[0]);
  assert.deepEqual(did, ["review t"]);
  model.dispose();
});

test("after an overflow the page goes on, and is not begun anew", async () => {
  const long = new LongSession(turns(20));
  const { say, next, frames, model } = play(long);
  say({ kind: "ready" });
  await next();
  long.items.push(...turns(21).slice(-5));
  long.daemon.overflow.fire({ sessionId, resumeAfter: 100 });
  const frame = await next();
  assert.deepEqual([frame.reset, inserted(frame).length, frames.length, model.counts.rows], [false, 5, 2, 55]);
  model.dispose();
});

test("a daemon that is gone is told, and a page without one too", async () => {
  const long = new LongSession(turns(20));
  const { say, next, model } = play(long);
  say({ kind: "ready" });
  await next();
  long.daemon.state = { kind: "lost", why: "it ended\x1b", retryInMs: 200 };
  long.daemon.changed.fire(long.daemon.state);
  assert.equal((await next()).trouble, "the daemon is gone (it ended\\x1b); it is started again");
  long.daemon.state = { kind: "connecting", again: "it ended\x1b" };
  long.daemon.changed.fire(long.daemon.state);
  long.daemon.state = { kind: "connected", build: "0", stateDir: "/state" };
  long.daemon.changed.fire(long.daemon.state);
  assert.equal((await next()).trouble, "");
  model.dispose();
});

function call(over: Partial<ItemCall>): Item {
  return { itemId: "s.1", revision: 3, turnId: "now", at, kind: "toolCall", call: { callId: "c", tool: "shell", arguments: { command: "ls" }, state: "deferred", token: "t", ...over } };
}

function waiting(over: Partial<Pending> = {}): Pending {
  return { token: "t", sessionId, turnId: "now", callId: "c", kind: "approval", tool: "shell", title: "", arguments: {}, argumentsHash: "h", editable: true, cwd: "/w", reason: "why", suggestions: [], createdAt: at, ...over };
}

const card = (item: Item, pending: readonly Pending[] = []): CallRow => rowView({ item }, session({ pending })) as CallRow;

test("a call is approved on its card only where all of it is seen", () => {
  const on = (command: string, over: Partial<Pending> = {}): boolean | undefined =>
    card(call({ arguments: { command } }), [waiting(over)]).waits?.approvable;
  assert.deepEqual(
    [on("ls"), on("x".repeat(601)), on("a\n".repeat(12)), on("ls", { diff: "+a" }), on("ls", { kind: "external" })],
    [true, false, false, false, false],
  );
});

test("a card spells out what could act or hide", () => {
  const view = card(call({ tool: "sh\u202e", arguments: { command: "ls\u200b\nrm" }, output: "\x1b[31mred", state: "completed" }));
  assert.deepEqual([view.tool, view.arguments, view.summary, view.output], ["sh\\u202e", "ls\\u200b\nrm", "ls\\u200b\\nrm", "\\x1b[31mred"]);
});

test("what is too long says how much more there is", () => {
  const view = card(call({ arguments: { command: "x".repeat(5000) }, output: "y".repeat(5000), state: "completed" }));
  assert.deepEqual(
    [view.summary.slice(-25), view.arguments.slice(-25), view.output.slice(-25), view.more],
    ["x… (4840 more characters)", "x… (3000 more characters)", "y… (1000 more characters)", true],
  );
});

test("what was kept of a session is there again, but for the place where it is opened anew", () => {
  const stored = new Map<string, unknown>();
  const memento = { get: (key: string, otherwise: unknown) => stored.get(key) ?? otherwise, update: (key: string, value: unknown) => void stored.set(key, value) };
  const kept = new Kept(memento as never);
  const state = (at: number): PageState => ({ sessionId, at, anchor: { id: "1.0", above: 3 }, folded: [], unfolded: [], draft: "d", delivery: "turn", after: "turn" });
  for (let n = 0; n < 60; n += 1) {
    kept.keep(`s${n}`, state(n));
  }
  assert.deepEqual([kept.of("s59"), kept.of("s9")], [state(59), undefined]);
  kept.forgetPlace("s59");
  const { anchor: _place, ...rest } = state(59);
  assert.deepEqual(kept.of("s59"), rest);
});

test("a card says who decided", () => {
  const decision = { by: "ada", client: { id: "1", name: "ada", kind: "cli" }, at, edited: true };
  assert.deepEqual(
    [
      card(call({ state: "completed", decision, startedAt: at })).decision,
      card(call({ state: "denied", decision: { ...decision, edited: false, message: "no" } })).decision,
      card(call({ state: "denied", disposition: { tag: "deny", reason: "never" } })).decision,
      card(call({ state: "completed", decision: { by: "rule", at, edited: false, ruleId: "r" }, startedAt: at })).decision,
    ],
    ["approved with other arguments by ada (cli)", "denied by ada (cli): no", "denied by the policy: never", "approved by a remembered rule"],
  );
});

test("a session offers what can be done now, and says what it needs", () => {
  const turn = { turnId: "t", n: 2, startedAt: at };
  const view = (over: Parameters<typeof session>[0], activity: "idle" | "model" = "idle"): readonly unknown[] => {
    const { status, can } = sessionView(session(over), activity, methods, new Map());
    return [status, can];
  };
  assert.deepEqual(view({ state: "userTurn", turn }), ["ready to ask the model", ["step", "run", "pause", "cancel"]]);
  assert.deepEqual(view({ state: "userTurn", turn }, "model"), ["the model answers", ["pause", "cancel"]]);
  assert.deepEqual(view({ state: "userTurn", turn, paused: { at } }), ["paused", ["step", "resume", "cancel"]]);
  assert.deepEqual(view({ turn: { ...turn, end: "cancelled" } }), ["turn 2 cancelled", ["continue"]]);
  assert.deepEqual(view({ state: "stopped" }), ["closed for good", []]);
  assert.deepEqual(view({ state: "partialUserTurn", turn, pending: [waiting()] })[0], "waits for an approval");
});

test("what all turns have used and what stands before the model are two numbers", () => {
  const used = { inputTokens: 123_456, outputTokens: 7890, cachedTokens: 1000, contextTokens: 45_678 };
  const told = (over: object): string => sessionView(session({ usage: { ...used, ...over } }), "idle", methods, new Map()).usage;
  assert.equal(told({}), "123,456 tokens in (1,000 cached) · 7,890 out · context 45,678");
  const { contextTokens: _none, ...totals } = used;
  assert.equal(
    sessionView(session({ usage: totals }), "idle", methods, new Map()).usage,
    "123,456 tokens in (1,000 cached) · 7,890 out",
  );
});

test("a card has what was proposed beside what ran, and who made it another", () => {
  const decision = { by: "ada", client: { id: "1", name: "ada", kind: "vscode" }, at, edited: true };
  const view = card(call({ state: "completed", decision, startedAt: at, effectiveArguments: { command: "ls -l" } }));
  assert.deepEqual(
    [view.proposed, view.arguments, view.decision],
    ["ls", "ls -l", "approved with other arguments by ada (vscode)"],
  );
  assert.equal(card(call({ state: "completed" })).proposed, undefined);
});

test("a child leads to the session that it works for, and a card to the child", () => {
  assert.equal(sessionView(session({ parent: "above" }), "idle", methods, new Map()).parent, "above");
  assert.equal(card(call({ childId: "below" })).childId, "below");
});

test("a session whose cost is not known says so, and lacks what the daemon lacks", () => {
  const view = sessionView(session({ queued: [{ inputId: "i", delivery: "queue" }] }), "idle", new Set(), new Map([["i", "later\u202e"]]));
  assert.deepEqual([view.cost, view.can, view.forks, view.takesInput, view.queued[0]?.text], ["unknown", [], false, false, "later\\u202e"]);
  assert.equal(sessionView(session({ usage: { inputTokens: 1, outputTokens: 1, cost: 0.1 + 0.2 } }), "idle", methods, new Map()).cost, "0.3");
});

test("the page runs its own script alone", () => {
  const page = pageOf({ script: "s", style: "c", sessionId: '"><script>' }, "https://own");
  assert.match(page, /default-src 'none'; style-src https:\/\/own; script-src 'nonce-[\w-]{24}'/);
  assert.equal(page.includes('"><script>"'), false);
  assert.equal(page.split("<script").length, 2);
});
