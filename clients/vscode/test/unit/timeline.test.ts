import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Timeline } from "../../src/core/timeline";
import type { AgentsEvent, AttachResult, Item, ItemCall, Summary, TranscriptResult } from "../../src/protocol";
import { session, sessionId, turns } from "../support/long-session";

const at = "2026-11-29T18:21:14.510Z";

interface Recorded {
  readonly attached?: AttachResult;
  readonly event?: AgentsEvent;
  readonly summary?: Summary;
  readonly newest?: TranscriptResult;
}

/** What a daemon has sent: steps, approvals, a failed and a cancelled model call, a rewind. */
const recorded = readFileSync("test/unit/recorded.jsonl", "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Recorded);

function live(event: AgentsEvent["event"]): AgentsEvent {
  return { sessionId, revision: 5, turnId: "now", at, event };
}

function delta(itemId: string, offset: number, text: string, kind = "answer"): AgentsEvent {
  return live({ type: "item/delta", itemId, kind, offset, text });
}

function attached(items: readonly Item[], over: Partial<AttachResult> = {}): AttachResult {
  return { snapshot: { session: session(), items }, replay: [], seq: 1, ...over };
}

function callItem(state: string, over: Partial<ItemCall> = {}): Item {
  return { itemId: "s.1", revision: 3, turnId: "now", at, kind: "toolCall", call: { callId: "c", tool: "shell", arguments: {}, state, ...over } };
}

function after(...events: readonly AgentsEvent[]): Timeline {
  const timeline = new Timeline();
  timeline.attached(attached([]));
  timeline.take();
  events.forEach((event) => timeline.event(event));
  return timeline;
}

const items = (timeline: Timeline): readonly unknown[] => timeline.ids.map((id) => timeline.row(id)?.item);

test("what a daemon has sent comes to its transcript, whenever that is read", () => {
  const timeline = new Timeline();
  for (const { attached: answer, event, summary, newest } of recorded) {
    answer && timeline.attached(answer);
    event && timeline.event(event);
    summary && timeline.summary(summary);
    if (newest !== undefined) {
      timeline.newest(newest);
      assert.deepEqual(items(timeline), newest.items);
    }
  }
  assert.equal(timeline.activity, "idle");
  assert.equal(timeline.ids.some((id) => timeline.row(id)?.draft !== undefined), false);
});

test("without the transcript only what no event tells is missing: notes, and what a rewind took away", () => {
  const timeline = new Timeline();
  const stale: string[] = [];
  for (const { attached: answer, event } of recorded) {
    answer && timeline.attached(answer);
    event && timeline.event(event);
    if (timeline.stale) {
      timeline.stale = false;
      stale.push(String(event?.event["type"]));
    }
  }
  assert.deepEqual(stale, ["note", "turn/completed", "note"]);
});

test("pieces become a draft, and the item takes its place", () => {
  const timeline = after(delta("s.0", 0, "He"), delta("s.0", 2, "llo"));
  assert.equal(timeline.row("s.0")?.draft?.text, "Hello");
  assert.deepEqual(timeline.take(), [{ kind: "splice", at: 0, remove: 0, ids: ["s.0"] }]);
  timeline.event(delta("s.0", 5, "!"));
  assert.deepEqual(timeline.take(), [{ kind: "append", id: "s.0", text: "!" }]);
  const item: Item = { itemId: "s.0", revision: 6, turnId: "now", at, kind: "answer", text: "Hello!" };
  timeline.event({ ...live({ type: "item/completed", item }), seq: 2 });
  assert.deepEqual(timeline.row("s.0"), { item });
  assert.deepEqual(timeline.take(), [{ kind: "put", id: "s.0" }]);
});

test("offsets count characters, not halves of them", () => {
  const timeline = after(delta("s.0", 0, "👍🏽"), delta("s.0", 2, "ok"));
  assert.equal(timeline.row("s.0")?.draft?.text, "👍🏽ok");
});

test("a smaller offset voids what came of that answer", () => {
  const timeline = after(delta("s.0", 0, "Hmm", "thinking"), delta("s.1", 0, "First"), delta("s.0", 0, "Again", "thinking"));
  assert.deepEqual(timeline.ids.map((id) => timeline.row(id)?.draft?.text), ["Again"]);
});

test("a beginning that was missed is told", () => {
  const timeline = after(delta("s.0", 7, "rest"));
  assert.equal(timeline.row("s.0")?.draft?.text, "[… 7 characters left out …]\nrest");
});

test("a try that failed leaves nothing of what it streamed", () => {
  const timeline = after(delta("s.0", 0, "He"), live({ type: "note", text: "try 1 of the model call failed" }));
  assert.deepEqual(timeline.ids, []);
});

test("an input that is recorded while an answer streams stands before it", () => {
  const input: Item = { itemId: "4.0", revision: 4, turnId: "now", at, kind: "input", parts: [] };
  const timeline = after(delta("s.0", 0, "He"), { ...live({ type: "item/completed", item: input }), seq: 2 });
  assert.deepEqual(timeline.ids, ["4.0", "s.0"]);
});

test("what a tool prints is added up, and its end replaces it", () => {
  const progress = (offset: number, text: string): AgentsEvent => live({ type: "tool/progress", callId: "c", offset, text });
  const timeline = after({ ...live({ type: "item/started", item: callItem("running") }), seq: 2 }, progress(0, "one\n"), progress(4, "two\n"));
  assert.equal(timeline.row("s.1")?.printed?.text, "one\ntwo\n");
  timeline.event(progress(4, "two\nthree\n"));
  timeline.event(progress(30, "late\n"));
  assert.equal(timeline.row("s.1")?.printed?.text, "one\ntwo\nthree\n[… 16 characters left out …]\nlate\n");
  timeline.event({ ...live({ type: "item/completed", item: callItem("completed", { output: "all" }) }), seq: 3 });
  assert.deepEqual(timeline.row("s.1"), { item: callItem("completed", { output: "all" }) });
});

test("how far a tool is is told with its row", () => {
  const timeline = after({ ...live({ type: "item/started", item: callItem("running") }), seq: 2 });
  timeline.take();
  timeline.event(live({ type: "tool/progress", callId: "c", message: "half", progress: 1, total: 2 }));
  assert.deepEqual(timeline.row("s.1")?.progress, { message: "half", progress: 1, total: 2 });
  assert.deepEqual(timeline.take(), [{ kind: "put", id: "s.1" }]);
});

test("a call whose wait has changed with the session is told anew", () => {
  const waiting = { token: "t", sessionId, turnId: "now", callId: "c", kind: "approval", tool: "shell", title: "", arguments: {}, argumentsHash: "h", editable: true, cwd: "/", reason: "", suggestions: [], createdAt: at } as const;
  const timeline = after({ ...live({ type: "item/updated", item: callItem("deferred", { token: "t" }) }), seq: 2 });
  timeline.take();
  timeline.event({ ...live({ type: "session/updated", session: session({ pending: [waiting], state: "partialUserTurn" }) }), seq: 3 });
  assert.deepEqual(timeline.take(), [{ kind: "put", id: "s.1" }]);
  timeline.event({ ...live({ type: "session/updated", session: session({ pending: [waiting], state: "partialUserTurn" }) }), seq: 4 });
  assert.deepEqual(timeline.take(), []);
});

test("pages that are older come before, once", () => {
  const all = turns(40);
  const timeline = new Timeline();
  timeline.attached(attached(all.slice(-50)));
  assert.equal(timeline.hasMore, true);
  timeline.older({ items: all.slice(0, -50), hasMore: false });
  timeline.older({ items: all.slice(0, -50), hasMore: false });
  assert.deepEqual(items(timeline), all);
  assert.equal(timeline.hasMore, false);
});

test("after a break what was missed is added, and pieces of before count no more", () => {
  const timeline = after(delta("s.0", 0, "He"));
  const item: Item = { itemId: "s.0", revision: 6, turnId: "now", at, kind: "answer", text: "Hello" };
  timeline.attached({ replay: [{ ...live({ type: "item/completed", item }), seq: 2 }], seq: 2, session: session({ activity: "model" }) });
  assert.deepEqual([items(timeline), timeline.activity], [[item], "model"]);
});

test("after a long break a snapshot goes on where it can, and else begins anew", () => {
  const all = turns(30);
  const timeline = new Timeline();
  timeline.attached(attached(all.slice(0, 50)));
  timeline.take();
  timeline.attached(attached(all.slice(40, 90)));
  assert.deepEqual(items(timeline), all.slice(0, 90));
  assert.deepEqual(timeline.take(), [{ kind: "splice", at: 50, remove: 0, ids: all.slice(50, 90).map((item) => item.itemId) }]);
  timeline.attached(attached(all.slice(100, 150)));
  assert.deepEqual(items(timeline), all.slice(100, 150));
});
