// A decision is about the call that was shown, and about no other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { numberOf, waitingAt, whoAnswered } from "../../src/core/calls";
import { AbeyError } from "../../src/core/daemon";
import { approves, decide } from "../../src/core/deciding";
import type { Decided } from "../../src/core/review";
import type { Item, Pending, TranscriptParams } from "../../src/protocol";
import { FakeDaemon } from "../support/fake-daemon";

const shown = { token: "t1", sessionId: "s1", callId: "c1", argumentsHash: "h1" } as Pending;
const approve: Decided = { argumentsHash: "h1", outcome: { kind: "approve" }, resume: true };
const refusing = (kind: string, items: readonly Pending[], more = {}): FakeDaemon =>
  new FakeDaemon({
    "agents/complete": () => {
      throw new AbeyError(-31000, kind, "no");
    },
    "agents/pending": () => ({ items }),
    ...more,
  });
const item = (n: number, call: object | undefined): Item => ({ itemId: String(n), call }) as unknown as Item;

test("the hash of what was shown goes with it, and whether the session goes on", async () => {
  const daemon = new FakeDaemon({ "agents/complete": () => ({ applied: true, resolution: { text: "approved by you" } }) });
  assert.deepEqual(await decide(daemon, shown, approve), { kind: "answered", ours: true, text: "approved by you" });
  const params = { token: "t1", outcome: { kind: "approve" }, argumentsHash: "h1", resume: true, wait: false };
  assert.deepEqual(daemon.asked, [{ method: "agents/complete", params }]);
});

test("a decision about something else is not sent", async () => {
  const daemon = new FakeDaemon({});
  const came = await decide(daemon, shown, { ...approve, argumentsHash: "h0" });
  assert.deepEqual([came, daemon.asked], [{ kind: "changed", pending: shown }, []]);
});

test("whoever was first counts, and is named", async () => {
  const daemon = new FakeDaemon({ "agents/complete": () => ({ applied: false, resolution: { text: "denied by ada" } }) });
  assert.deepEqual(await decide(daemon, shown, approve), { kind: "answered", ours: false, text: "denied by ada" });
});

test("a call that has changed is the one to look at again", async () => {
  const now = { ...shown, argumentsHash: "h2" };
  assert.deepEqual(await decide(refusing("arguments/mismatch", [now]), shown, approve), { kind: "changed", pending: now });
});

test("what is refused still waits, with the reason", async () => {
  assert.deepEqual(await decide(refusing("permission/denied", [shown]), shown, approve), { kind: "refused", text: "no" });
});

test("a daemon that is gone leaves the call as it is", async () => {
  const daemon = refusing("daemon/lost", []);
  assert.deepEqual(await decide(daemon, shown, approve), { kind: "refused", text: "no" });
  assert.equal(daemon.asked.length, 1);
});

test("of a call that waits no more it is told who answered", async () => {
  const decision = { by: "ada", client: { kind: "cli" }, at: "then", edited: false };
  const call = { token: "t1", state: "denied", decision };
  const daemon = refusing("state/invalid", [], { "agents/transcript": () => ({ items: [item(1, call)], hasMore: false }) });
  assert.deepEqual(await decide(daemon, shown, approve), { kind: "answered", ours: false, text: "denied by ada (cli) at then" });
});

const pages = (): FakeDaemon =>
  new FakeDaemon({
    "agents/transcript": ({ before }: TranscriptParams) =>
      before === undefined
        ? { items: [item(3, undefined), item(4, { callId: "c1", token: "t1", state: "deferred" })], hasMore: true }
        : { items: [item(1, { callId: "c1", token: "t0", state: "completed" }), item(2, { callId: "c2" })], hasMore: false },
    "agents/pending": () => ({ items: [shown] }),
  });

test("calls are counted over all turns, as their documents are", async () => {
  assert.equal(await numberOf(pages(), shown), 3);
  assert.deepEqual(await Promise.all([1, 2, 3, 4].map((n) => waitingAt(pages(), "s1", n))), [undefined, undefined, shown, undefined]);
});

test("who answered a call is found on an older page", async () => {
  assert.equal(await whoAnswered(pages(), "s1", "t0"), "completed");
  assert.equal(await whoAnswered(pages(), "s1", "t9"), "it waits for nobody any more");
});

test("an approval is one by whichever way it was sent", () => {
  const completed = (outcome: object): boolean => approves({ method: "agents/complete", params: { token: "t", outcome } });
  const executed = (command: string, given: unknown): boolean =>
    approves({ method: "workspace/executeCommand", params: { command, arguments: [given] } });
  assert.deepEqual(
    [
      completed({ kind: "approve" }),
      completed({ kind: "deny" }),
      executed("abey.complete", { document: "file:///a.args.json", decision: "approve" }),
      executed("abey.complete", { document: "file:///a.args.json", decision: "deny" }),
      executed("abey.open", { decision: "approve" }),
      approves({ method: "agents/list", params: {} }),
    ],
    [true, false, true, false, false, false],
  );
});
