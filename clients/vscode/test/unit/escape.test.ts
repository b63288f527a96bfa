// Hostile text acts nowhere: the same cases as the daemon's tests/shared/test_escaping.py.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, escapeLabel, escapeLine, escapeMessage, escapeText } from "../../src/core/escape";

const line: readonly (readonly [string, string])[] = [
  ["plain, with äöü and 漢字 and 🙂", "plain, with äöü and 漢字 and 🙂"],
  ["a\nb\tc\rd", "a\\nb\\tc\\rd"],
  ["\x1b[2J\x07\x00\x7f\x9b", "\\x1b[2J\\x07\\x00\\x7f\\x9b"],
  ["safe\u202egnp.exe", "safe\\u202egnp.exe"],
  ["a\u200bb\u2066c\ufeff", "a\\u200bb\\u2066c\\ufeff"],
  ["tag \u{e0041}", "tag \\U000e0041"],
  ["lone \ud800", "lone \\ud800"],
  [" ".repeat(32), " ".repeat(32)],
  [`x${" ".repeat(33)}rm`, "x[33 spaces]rm"],
];

for (const [given, shown] of line) {
  test(`in a line: ${JSON.stringify(given)}`, () => assert.equal(escapeLine(given), shown));
}

test("in a text tabs and newlines stay", () => assert.equal(escapeText("a\n\tb\r\x1b"), "a\n\tb\\r\\x1b"));

test("a cut says how much is missing, in characters", () => {
  assert.equal(cut("🙂🙂🙂", 2), "🙂🙂… (1 more characters)");
  assert.equal(cut("ab", 2), "ab");
});

test("in a notification nothing becomes a link", () => {
  assert.equal(escapeMessage("[ok](command:abey.approve)"), "[ok] (command:abey.approve)");
});

test("in a label nothing becomes a picture", () => assert.equal(escapeLabel("$(check) done"), "$ (check) done"));
