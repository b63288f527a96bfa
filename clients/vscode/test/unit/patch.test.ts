// What a call would change is the daemon's patch, applied to just the file that it was made of, or not at all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, partsOf, readPatch } from "../../src/core/patch";

const patch = [
  "--- a/notes.txt",
  "+++ b/notes.txt",
  "@@ -1,3 +1,4 @@",
  " one",
  "-two",
  "+2",
  "+two and a half",
  " three",
  "@@ -9,2 +10,2 @@",
  " nine",
  "-ten",
  "\\ No newline at end of file",
  "+TEN",
  "",
].join("\n");
const file = "one\ntwo\nthree\n4\n5\n6\n7\n8\nnine\nten";
const changed = "one\n2\ntwo and a half\nthree\n4\n5\n6\n7\n8\nnine\nTEN\n";

function read(text: string) {
  const found = readPatch(text);
  assert.ok(found);
  return found;
}

test("a patch makes the new file of the old one", () => {
  assert.equal(apply(read(patch), file), changed);
});

test("a file that is not what it was made of is not changed", () => {
  assert.equal(apply(read(patch), file.replace("two", "zwei")), undefined);
  assert.equal(apply(read(patch), `${file}\n`), undefined);
  assert.equal(apply(read(patch), "one\n"), undefined);
});

test("a new file is made of nothing", () => {
  const made = read("--- /dev/null\n+++ b/new/file.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n");
  assert.deepEqual([made.path, made.created, apply(made, "")], ["new/file.txt", true, "a\nb\n"]);
});

test("lines are put between others, and taken away, where they stand", () => {
  assert.equal(apply(read("--- a/f\n+++ b/f\n@@ -1,0 +2 @@\n+between\n"), "a\nb\n"), "a\nbetween\nb\n");
  assert.equal(apply(read("--- a/f\n+++ b/f\n@@ -2 +1,0 @@\n-b\n"), "a\nb\nc\n"), "a\nc\n");
});

test("without the file the parts that change are shown, each with where it is", () => {
  assert.deepEqual(partsOf(read(patch)), {
    before: "@@ -1,3 +1,4 @@\none\ntwo\nthree\n\n@@ -9,2 +10,2 @@\nnine\nten",
    after: "@@ -1,3 +1,4 @@\none\n2\ntwo and a half\nthree\n\n@@ -9,2 +10,2 @@\nnine\nTEN\n",
  });
});

test("a path that could be mistaken comes in quotes", () => {
  assert.equal(read('--- /dev/null\n+++ "b/a\\u202e b"\n@@ -0,0 +1 @@\n+x\n').path, "a\u202e b");
});

for (const [what, text] of [
  ["cut", `${patch.slice(0, 60)}\n… (400 more characters)\n`],
  ["a description", "--- a/f\n+++ b/f\n[binary: 12 bytes become 30]\n"],
  ["something else", "nothing of the kind"],
  ["a hunk that says more lines than it has", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n"],
] as const) {
  test(`what is ${what} is no patch`, () => assert.equal(readPatch(text), undefined));
}
