// Rows of calls: whole, escaped, and what they offer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { callRow, callText, callWords } from "../../src/core/waiting";
import type { Pending, Session } from "../../src/protocol";
import { pending, session } from "../support/samples";

const schema = { type: "object", properties: { command: {}, timeout: {} }, required: ["command"] };

function row(changed: Partial<Pending>, drivenBy: Session["drivenBy"] = "step"): ReturnType<typeof callRow> {
  return callRow(pending({ tool: "shell", argumentsSchema: schema, ...changed }), session({ drivenBy }));
}

test("the only argument that has to be stands for the call", () => {
  assert.equal(
    callText(pending({ tool: "shell", arguments: { command: "date" }, argumentsSchema: schema })),
    "shell: date",
  );
});

const jsons: readonly (readonly [string, unknown, string])[] = [
  ["more than one", { command: "date", timeout: 1 }, 'shell {"command":"date","timeout":1}'],
  ["another one", { timeout: "date" }, 'shell {"timeout":"date"}'],
  ["blanks at an end", { command: "date " }, 'shell {"command":"date "}'],
  ["empty", { command: "" }, 'shell {"command":""}'],
  ["no text", { command: 1 }, 'shell {"command":1}'],
  ["no object", "date", 'shell "date"'],
];
for (const [name, given, text] of jsons) {
  test(`${name}: the arguments as JSON`, () =>
    assert.equal(callText(pending({ tool: "shell", arguments: given, argumentsSchema: schema })), text));
}

test("hostile arguments are spelled out", () => {
  const text = callText(pending({ tool: "shell", arguments: { command: "a\u202eb\nc" }, argumentsSchema: schema }));
  assert.equal(text, "shell: a\\u202eb\\nc");
});

test("a question shows what is asked", () => {
  const question = { kind: "response", prompt: "Which?\nOne" } as const;
  assert.equal(callText(pending({ tool: "ask", kind: "question", question })), "ask asks: Which?\\nOne");
});

test("a change of a file shows which file, and is never whole", () => {
  const { label, whole } = row({ tool: "edit_file", arguments: { path: "a.py", old_text: "1", new_text: "2" }, diff: "--- a" });
  assert.deepEqual([label, whole], ["edit_file: a.py", false]);
});

test("only a call that is shown whole can be approved in its row", () => {
  assert.equal(row({ arguments: { command: "date" } }).whole, true);
  assert.equal(row({ arguments: { command: "x".repeat(17) } }).whole, true);
  assert.equal(row({ arguments: { command: "x".repeat(18) } }).whole, false);
  assert.equal(row({ arguments: { command: "dаte" } }).whole, false, "a Cyrillic letter");
  assert.equal(row({ arguments: { command: "date" }, diff: "--- a" }).whole, false, "a write");
  assert.equal(row({ arguments: { command: "date" }, kind: "uncertain" }).whole, false);
});

test("the words say what a row offers", () => {
  assert.equal(callWords(row({ arguments: { command: "date" } })), "call approval whole step editable deniable");
  assert.equal(callWords(row({ arguments: { command: "date" } }, "run")), "call approval whole run editable deniable");
  assert.equal(callWords(row({ kind: "uncertain", editable: false })), "call uncertain step");
  assert.equal(callWords(row({ kind: "external", editable: false })), "call external step deniable");
  assert.equal(callWords(row({ kind: "later-word" as Pending["kind"] })), "call other step editable");
});
