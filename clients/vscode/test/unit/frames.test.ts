import assert from "node:assert/strict";
import { test } from "node:test";
import { Changes } from "../../src/core/changes";
import { Extent } from "../../src/core/extent";
import { Frames } from "../../src/core/frames";

function played(): { frames: Frames<{ text: string }>; posted: string[]; say(text: string): void; soon(): void } {
  const posted: string[] = [];
  let news = "";
  let run = (): void => undefined;
  const build = (): { text: string } | undefined => {
    const text = news;
    news = "";
    return text === "" ? undefined : { text };
  };
  const frames = new Frames(build, ({ n, text }) => posted.push(`${n} ${text}`), (later) => (run = later));
  const say = (text: string): void => {
    news += text;
    frames.changed();
  };
  return { frames, posted, say, soon: () => run() };
}

test("nothing is posted before there is a page", () => {
  const { frames, posted, say, soon } = played();
  say("a");
  soon();
  assert.deepEqual(posted, []);
  frames.begin();
  soon();
  assert.deepEqual(posted, ["1 a"]);
});

test("what changes while the page paints waits for the next frame", () => {
  const { frames, posted, say, soon } = played();
  frames.begin();
  say("a");
  say("b");
  soon();
  say("c");
  soon();
  say("d");
  assert.deepEqual(posted, ["1 ab"]);
  frames.paint(1);
  frames.paint(1);
  assert.deepEqual(posted, ["1 ab", "2 cd"]);
  frames.paint(2);
  assert.deepEqual(posted, ["1 ab", "2 cd"]);
});

test("a page that comes after another is not held up by what that one never painted", () => {
  const { frames, posted, say, soon } = played();
  frames.begin();
  say("a");
  soon();
  frames.end();
  say("b");
  frames.begin();
  soon();
  assert.deepEqual(posted, ["1 a", "2 b"]);
});

test("changes are told as what leads from the order that was told", () => {
  const changes = new Changes();
  changes.put("a");
  changes.put("b");
  changes.move();
  assert.deepEqual(changes.take(["a", "b"]), [{ kind: "splice", at: 0, remove: 0, ids: ["a", "b"] }]);
  changes.append("a", "1");
  changes.append("a", "2");
  changes.put("b");
  changes.append("b", "told with it");
  assert.deepEqual(changes.take(["a", "b"]), [{ kind: "put", id: "b" }, { kind: "append", id: "a", text: "12" }]);
  changes.put("x");
  changes.move();
  assert.deepEqual(changes.take(["a", "x", "b"]), [{ kind: "splice", at: 1, remove: 0, ids: ["x"] }]);
  changes.move();
  assert.deepEqual(changes.take(["b"]), [{ kind: "splice", at: 0, remove: 2, ids: [] }]);
});

test("only rows in and near sight are in the range, and never too many", () => {
  const extent = new Extent(Array.from({ length: 1000 }, () => 20));
  assert.deepEqual(extent.range(10_000, 10_400, 100, 60), { from: 495, to: 525 });
  assert.deepEqual(extent.range(10_000, 12_000, 100, 60), { from: 500, to: 560 });
  assert.deepEqual(extent.range(0, 400, 100, 60), { from: 0, to: 25 });
  assert.deepEqual(new Extent([]).range(0, 400, 100, 60), { from: 0, to: 0 });
  assert.deepEqual([extent.at(-5), extent.at(39), extent.at(1e9), extent.total], [0, 1, 999, 20_000]);
});
