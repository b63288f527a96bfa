import assert from "node:assert/strict";
import { test } from "node:test";
import { Reading } from "../../src/core/reading";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("what changes while it is read is read once more, however often it changes", async () => {
  const ends: (() => void)[] = [];
  const reading = new Reading(() => new Promise((end) => void ends.push(end)));
  reading.again();
  reading.again();
  reading.again();
  assert.equal(ends.length, 1);
  ends[0]?.();
  await turn();
  assert.equal(ends.length, 2);
  ends[1]?.();
  await turn();
  assert.equal(ends.length, 2);
});

test("what changes once it was read is read again", async () => {
  let count = 0;
  const reading = new Reading(() => Promise.resolve(void (count += 1)));
  reading.again();
  await turn();
  reading.again();
  await turn();
  assert.equal(count, 2);
});
