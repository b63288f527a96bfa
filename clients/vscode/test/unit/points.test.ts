// Where a session can be taken back to.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pointsOf } from "../../src/core/points";
import type { Item } from "../../src/protocol";
import { turns } from "../support/long-session";

test("each revision once, with the results of what was asked for together", () => {
  const items = turns(1);
  const call = items[3]?.call;
  const beside: Item = { ...(items[3] as Item), itemId: "step1a.3", call: { ...(call as NonNullable<typeof call>), callId: "other", tool: "look" } };
  const points = pointsOf({ items: [...items.slice(0, 4), beside, ...items.slice(4)], resultsAt: { call1: 14, other: 14 } });
  assert.deepEqual(
    points.map(({ revision, text }) => [revision, text.slice(0, 24)]),
    [
      [10, "What about part 1?"],
      [12, 'look {"command":"grep -r'],
      [14, "the results of look"],
      [16, "Turn **1** is done, in `"],
    ],
  );
});

test("an input without words is told by its file", () => {
  const item: Item = { ...(turns(1)[0] as Item), parts: [{ kind: "file", path: "/w/a.txt" }] };
  assert.deepEqual(pointsOf({ items: [item] }).map(({ text }) => text), ["/w/a.txt"]);
});
