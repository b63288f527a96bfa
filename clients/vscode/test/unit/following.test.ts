// Who follows a session hears each event once, over breaks and overflows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Followings, type Follower } from "../../src/core/following";
import { LastingDaemon } from "../../src/core/lasting";
import { LinkLost } from "../../src/core/link";
import type { AgentsEvent } from "../../src/protocol";
import { FakeMachine } from "../support/fake-link";

const pace = { firstMs: 1, lastMs: 1, goodMs: 1, patienceMs: 1000 };

function event(seq: number | undefined, sessionId = "s1"): AgentsEvent {
  const numbered = seq === undefined ? {} : { seq };
  return { sessionId, ...numbered, revision: 1, at: "2026-11-29T18:00:00.000Z", event: { type: "note" } };
}

interface Heard extends Follower {
  readonly said: unknown[];
}

function follower(): Heard {
  const said: unknown[] = [];
  return {
    said,
    attached: ({ seq }) => said.push(["attached", seq]),
    event: ({ seq }) => said.push(seq ?? "live"),
    failed: (problem) => said.push(problem),
  };
}

async function world(
  answer: () => unknown,
): Promise<{ fake: FakeMachine; followings: Followings; daemon: LastingDaemon }> {
  const fake = new FakeMachine(({ method }) => (method === "agents/attach" ? answer() : {}));
  const daemon = new LastingDaemon(fake.dial, () => undefined, pace);
  const followings = new Followings(daemon);
  await daemon.connect();
  return { fake, followings, daemon };
}

test("the snapshot first, then each numbered event once, and what has no number", async () => {
  const { fake, followings } = await world(() => ({ replay: [], seq: 3 }));
  const heard = follower();
  followings.follow("s1", heard);
  await turn();
  const tell = fake.links[0]?.told.event;
  [event(3), event(4), event(4), event(undefined), event(9, "other")].forEach((each) => tell?.(each));
  assert.deepEqual(heard.said, [["attached", 3], 4, "live"]);
  assert.deepEqual(fake.asked[0]?.params, { sessionId: "s1", deltas: true });
});

test("an event that comes before the answer is told after it", async () => {
  const { fake, followings } = await world(() => ({ replay: [], seq: 3 }));
  const heard = follower();
  followings.follow("s1", heard);
  fake.links[0]?.told.event(event(4));
  await turn();
  assert.deepEqual(heard.said, [["attached", 3], 4]);
});

test("after a break it is attached again after the last event that was heard", async () => {
  let seq = 3;
  const { fake, followings, daemon } = await world(() => ({ replay: [], seq }));
  const heard = follower();
  followings.follow("s1", heard);
  await turn();
  fake.links[0]?.told.event(event(4));
  seq = 7;
  const again = new Promise<void>((resolve) => daemon.onState(({ kind }) => kind === "connected" && resolve()));
  fake.links[0]?.break();
  await again;
  await turn();
  assert.deepEqual(fake.asked.at(-1)?.params, { sessionId: "s1", deltas: true, after: 4 });
  assert.deepEqual(heard.said, [["attached", 3], 4, ["attached", 7]]);
});

test("an overflow attaches again; with 0 what was known is void", async () => {
  const { fake, followings } = await world(() => ({ replay: [], seq: 3 }));
  followings.follow("s1", follower());
  await turn();
  fake.links[0]?.told.overflow({ sessionId: "s1", resumeAfter: 2 });
  await turn();
  assert.deepEqual(fake.asked.at(-1)?.params, { sessionId: "s1", deltas: true, after: 3 });
  fake.links[0]?.told.overflow({ sessionId: "s1", resumeAfter: 0 });
  await turn();
  assert.deepEqual(fake.asked.at(-1)?.params, { sessionId: "s1", deltas: true });
});

test("only the last one that leaves detaches, and hears nothing more", async () => {
  const { fake, followings } = await world(() => ({ replay: [], seq: 3 }));
  const [one, two] = [follower(), follower()];
  const [first, second] = [followings.follow("s1", one), followings.follow("s1", two)];
  await turn();
  const detached = (): number => fake.asked.filter(({ method }) => method === "agents/detach").length;
  first.dispose();
  await turn();
  assert.equal(detached(), 0);
  fake.links[0]?.told.event(event(4));
  second.dispose();
  await turn();
  assert.deepEqual([detached(), one.said, two.said], [1, [["attached", 3]], [["attached", 3], 4]]);
});

test("what cannot be followed says so", async () => {
  const { followings } = await world(() => {
    throw Object.assign(new Error("no such session"), { code: -31001, data: { kind: "session/unknown" } });
  });
  const heard = follower();
  followings.follow("s1", heard);
  await turn();
  assert.equal((heard.said[0] as { kind?: string }).kind, "session/unknown");
  assert.ok(!(heard.said[0] instanceof LinkLost));
});
