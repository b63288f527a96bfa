// All that a call has printed is read part by part.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readOutput } from "../../src/core/output";
import type { OutputParams, OutputResult } from "../../src/protocol";
import { FakeDaemon } from "../support/fake-daemon";

const mebi = 1024 * 1024;

/** What a daemon answers of these bytes: a part that is no text as base64. */
function printing(bytes: Buffer): FakeDaemon {
  return new FakeDaemon({
    "agents/output": ({ offset = 0, limit = 0 }: OutputParams): OutputResult => {
      const part = bytes.subarray(offset, offset + limit);
      const encoding = Buffer.from(part.toString()).equals(part) ? "utf-8" : "base64";
      return { data: part.toString(encoding), encoding, size: bytes.length } as OutputResult;
    },
  });
}

const offsets = (daemon: FakeDaemon): readonly unknown[] => daemon.asked.map(({ params }) => (params as OutputParams).offset);

test("the parts are one text, also where one ends within a character", async () => {
  const text = `${"x".repeat(mebi - 1)}${"é".repeat(mebi)}end`;
  const daemon = printing(Buffer.from(text));
  assert.equal((await readOutput(daemon, "s", "c")) === text, true);
  assert.deepEqual(offsets(daemon), [0, mebi, 2 * mebi, 3 * mebi]);
});

test("what is printed is read once where it is short, and not at all where there is nothing", async () => {
  const daemon = printing(Buffer.from("short\n"));
  assert.equal(await readOutput(daemon, "s", "c"), "short\n");
  assert.deepEqual(daemon.asked, [
    { method: "agents/output", params: { sessionId: "s", callId: "c", offset: 0, limit: mebi } },
  ]);
  assert.equal(await readOutput(printing(Buffer.from("")), "s", "c"), "");
});

test("of more than 8 MiB the beginning is read, and how much is left out is said", async () => {
  const daemon = printing(Buffer.alloc(9 * mebi, "y"));
  const text = await readOutput(daemon, "s", "c");
  assert.deepEqual([text.slice(0, 8 * mebi) === "y".repeat(8 * mebi), text.slice(8 * mebi)], [true, `\n[… ${mebi} bytes left out …]\n`]);
  assert.equal(daemon.asked.length, 8);
});
