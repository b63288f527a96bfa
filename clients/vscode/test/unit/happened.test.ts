// What happened and stands in no row is told until the next turn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Happened } from "../../src/core/happened";

const inputs = new Map([["i", "later"]]);

test("what no row shows is told in words, until a turn begins", () => {
  const happened = new Happened();
  happened.hear({ type: "tripwire", extension: "guard", scope: "step", message: "no keys" });
  happened.hear({ type: "note", text: "went back to revision 20", to: 20 });
  happened.hear({ type: "note", text: "the model call failed (overloaded): later" });
  happened.hear({ type: "input/rejected", inputId: "i" });
  happened.hear({ type: "input/rejected", inputId: "j" });
  happened.hear({ type: "session/seeded", revision: 3, transcriptEntries: 12 });
  happened.hear({ type: "usage" });
  assert.equal(happened.endedBy, "guard");
  assert.deepEqual(happened.words(inputs), [
    "went back to revision 20",
    "an input that waited was not taken: later",
    "an input that waited was not taken",
    "what is here came from elsewhere: 12 entries",
  ]);
  happened.hear({ type: "turn/started", turnId: "t", n: 2 });
  assert.deepEqual([happened.endedBy, happened.words(inputs)], [undefined, []]);
});

test("what was before is told first, unless a turn has begun since", () => {
  const before = [{ type: "input/rejected", inputId: "i" }, { type: "turn/started", turnId: "t", n: 1 }, { type: "tripwire", extension: "guard", scope: "session", message: "" }];
  const happened = new Happened();
  happened.hear({ type: "input/rejected", inputId: "j" });
  happened.recall(before);
  assert.deepEqual([happened.endedBy, happened.words(inputs)], ["guard", ["an input that waited was not taken"]]);
  happened.forget();
  happened.hear({ type: "turn/started", turnId: "u", n: 2 });
  happened.recall(before);
  assert.deepEqual([happened.endedBy, happened.words(inputs)], [undefined, []]);
});

test("only the last of it is told", () => {
  const happened = new Happened();
  Array.from({ length: 300 }, (_, to) => happened.hear({ type: "note", text: `back to ${to}`, to }));
  assert.deepEqual(happened.words(inputs), ["back to 295", "back to 296", "back to 297", "back to 298", "back to 299"]);
});
