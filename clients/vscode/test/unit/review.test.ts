// What is shown of a call is all of it, as it is, and nothing in it hides.
import assert from "node:assert/strict";
import { test } from "node:test";
import { argumentBlocks, jsonSpelled, reviewOf, tabTitle } from "../../src/core/review";
import type { Pending, Rule, Session } from "../../src/protocol";

const rule: Rule = {
  ruleId: "r",
  tool: "bash_command",
  match: { "/command": "git status" },
  disposition: "runSync",
  scope: "session",
  origin: "call_1_1",
  createdAt: "2026-11-29T18:00:00.000Z",
  uses: 0,
};
const pending: Pending = {
  token: "t".repeat(32),
  sessionId: "s1",
  turnId: "u1",
  callId: "call_1_1",
  kind: "approval",
  tool: "bash_command",
  title: "bash_command",
  arguments: { command: "git\u202e status", timeout: 5 },
  argumentsHash: "h".repeat(64),
  editable: true,
  cwd: "/home/ada",
  reason: "approval required",
  suggestions: [rule, { ...rule, scope: "user", match: { "/command": { glob: "git status*" } } }],
  createdAt: "2026-11-29T18:00:00.000Z",
};
const session = (drivenBy: "step" | "run"): Session => ({ drivenBy, title: "Status", agent: "git" }) as Session;
const text = (review: ReturnType<typeof reviewOf>): readonly (readonly [string, string])[] =>
  review.blocks.map(({ label, pieces }) => [label, pieces.map((piece) => piece.text).join("")]);

test("an approval shows every argument whole, with what hides spelled out and marked", () => {
  const review = reviewOf(pending, session("step"));
  assert.deepEqual(text(review), [
    ["command", "git\\u202e status"],
    ["timeout (JSON)", "5"],
  ]);
  assert.deepEqual(review.blocks[0]?.pieces, [
    { text: "git", spelled: false },
    { text: "\\u202e", spelled: true },
    { text: " status", spelled: false },
  ]);
  assert.deepEqual(review.warnings, ["Characters that could hide or act are spelled out and marked, in 1 place."]);
  assert.deepEqual(review.facts, [
    { label: "Folder", text: "/home/ada" },
    { label: "Why it waits", text: "approval required" },
    { label: "Session", text: "Status (git)" },
  ]);
});

test("a call that a rule ends unanswered says when", () => {
  const { facts } = reviewOf({ ...pending, expiresAt: "2026-11-29T19:00:00.123Z" }, undefined);
  assert.deepEqual(facts.at(-1), { label: "Ends unanswered", text: "2026-11-29 19:00:00 UTC" });
});

test("it is bound to the hash of what it shows", () => {
  assert.equal(reviewOf(pending, undefined).argumentsHash, pending.argumentsHash);
});

test("it continues only what a run drove last", () => {
  assert.deepEqual(["run", "step"].map((by) => reviewOf(pending, session(by as "run")).continues), [true, false]);
  assert.equal(reviewOf(pending, undefined).continues, false);
});

test("the rules of Always are shown as they would be kept, the narrowest first", () => {
  const [narrowest, wider] = reviewOf(pending, undefined).suggestions;
  assert.equal(narrowest?.label, "In this session: command exactly git status");
  assert.deepEqual(JSON.parse(narrowest?.rule ?? ""), {
    tool: "bash_command",
    match: { "/command": "git status" },
    disposition: "runSync",
    scope: "session",
  });
  assert.equal(wider?.label, "In all your sessions: command like git status*");
  const inWorkspace = { ...rule, scope: "workspace", workspace: "/home/ada/work" } as const;
  const [near] = reviewOf({ ...pending, suggestions: [inWorkspace] }, undefined, "/home/ada").suggestions;
  assert.equal(near?.label, "In the workspace ~/work: command exactly git status");
  const exactly = { "": { command: "git status", timeout: 5 }, "/command": "git status" };
  const [all] = reviewOf({ ...pending, suggestions: [{ ...rule, match: exactly }] }, undefined).suggestions;
  assert.equal(all?.label, "In this session: command exactly git status, timeout exactly 5, and nothing else");
});

test("a number that may have been written otherwise is told", () => {
  const of = (value: unknown): number => reviewOf({ ...pending, arguments: { value } }, undefined).warnings.length;
  assert.deepEqual([of(1), of(0.5), of(12345678901234567890), of({ deep: [1.5] })], [0, 1, 1, 1]);
});

test("arguments that are no object are shown, too", () => {
  assert.deepEqual(argumentBlocks("half {").map(({ pieces }) => pieces[0]?.text), ["half {"]);
  assert.deepEqual(argumentBlocks({}).map(({ pieces }) => pieces[0]?.text), ["{}"]);
});

test("a question shows its prompt first, and its fields", () => {
  const question = { kind: "response", prompt: "Which?", schema: { properties: { which: { type: "string" } } } } as const;
  const review = reviewOf({ ...pending, kind: "question", question, suggestions: [] }, undefined);
  assert.deepEqual(text(review)[0], ["It asks", "Which?"]);
  assert.deepEqual(review.question?.fields.map(({ name }) => name), ["which"]);
  assert.equal(review.editable, false);
  const bare = { ...pending, kind: "question", question, arguments: {} } as const;
  assert.deepEqual(text(reviewOf(bare, undefined)), [["It asks", "Which?"]]);
  assert.equal(tabTitle(bare), "bash_command Which?");
});

test("what may have run shows what it has printed", () => {
  const review = reviewOf({ ...pending, kind: "uncertain", outputSoFar: "half\x1b[1A", startedAt: "then" }, undefined);
  assert.deepEqual(text(review).at(-1), ["The end of what it has printed", "half\\x1b[1A"]);
  const more = (outputSoFar: string): boolean => reviewOf({ ...pending, kind: "uncertain", outputSoFar }, undefined).moreOutput;
  assert.deepEqual([review.moreOutput, more("x".repeat(4096)), more("👍".repeat(4000))], [false, true, false]);
});

test("a tab is named in a line that nothing stretches", () => {
  assert.equal(tabTitle({ ...pending, arguments: { command: `a\nb${"x".repeat(100)}` } }), "bash_command a\\nbxxxxxxxxxxxxxxxxxxxxxxx…");
});

test("JSON of others keeps its value, and shows every character", () => {
  const value = { "a\u202eb": "\u{e0041}ä\u200b" };
  const shown = jsonSpelled(value);
  assert.deepEqual(JSON.parse(shown), value);
  assert.equal(shown, '{\n  "a\\u202eb": "\\udb40\\udc41ä\\u200b"\n}');
});
