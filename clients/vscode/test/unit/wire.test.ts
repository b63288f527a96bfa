// The real daemon: what it says to an editor, and what holds when it is killed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AbeyError } from "../../src/core/daemon";
import { Followings } from "../../src/core/following";
import { LastingDaemon } from "../../src/core/lasting";
import { Sessions } from "../../src/core/sessions";
import { agents, errorCodes } from "../../src/protocol";
import { asking, bash } from "../support/agents";
import { hasDaemon } from "../support/available";
import { Place } from "../support/place";
import { until } from "../support/until";
import { wire } from "../support/wire";

interface World {
  readonly place: Place;
  readonly daemon: LastingDaemon;
  readonly sessions: Sessions;
  readonly followings: Followings;
}

const skip = hasDaemon() ? false : "no abey-daemon on PATH";

function real(name: string, body: (world: World) => Promise<void>): void {
  test(name, { skip, timeout: 60_000 }, async () => {
    const place = new Place();
    const daemon = new LastingDaemon(wire(place), () => undefined);
    const sessions = new Sessions(daemon, (problem) => assert.fail(String(problem)));
    const followings = new Followings(daemon);
    try {
      await body({ place, daemon, sessions, followings });
    } finally {
      sessions.dispose();
      followings.dispose();
      await daemon.dispose();
      await place.dispose();
    }
  });
}

real("the handshake lists every method that we know", async ({ daemon }) => {
  await daemon.connect();
  assert.deepEqual(
    [...daemon.methods].sort(),
    Object.values(agents)
      .map(({ name }) => name)
      .sort(),
  );
  assert.equal(daemon.state.kind, "connected");
});

real("errors come with their kind", async ({ daemon }) => {
  const problem = await daemon.request(agents.get, { sessionId: "nobody" }).catch((error: unknown) => error);
  assert.ok(problem instanceof AbeyError);
  assert.deepEqual([problem.kind, problem.code], ["session/unknown", errorCodes["session/unknown"]]);
});

real(
  "a call that begins to wait, and one that is answered elsewhere, are known at once",
  async ({ place, daemon, sessions }) => {
    place.agent("asker", asking({ calls: [bash("echo hi")] }, { text: "Done." }));
    await daemon.connect();
    const sessionId = await place.waiting("asker");
    const call = await until("the call is listed", () => sessions.waiting()[0]);
    assert.deepEqual([call.sessionId, call.arguments, sessions.waitingCount], [sessionId, { command: "echo hi" }, 1]);
    await place.abey("session", "deny", call.token);
    await until("nothing waits", () => sessions.waiting().length === 0);
    assert.equal(sessions.waitingCount, 0);
  },
);

real("what waits when an editor comes is known from the start", async ({ place, daemon, sessions }) => {
  place.agent("asker", asking({ calls: [bash("echo hi"), bash("echo ho")] }, { text: "Done." }));
  await place.waiting("asker");
  await daemon.connect();
  await until("both are listed", () => sessions.waiting().length === 2);
});

real("the first answer counts, and a second one is told which it was", async ({ place, daemon }) => {
  place.agent("asker", asking({ calls: [bash("echo hi")] }, { text: "Done." }));
  await place.waiting("asker");
  const { items } = await daemon.request(agents.pending, {});
  const [call] = items;
  assert.ok(call);
  const first = { token: call.token, outcome: { kind: "deny" }, idempotencyKey: "first" } as const;
  assert.equal((await daemon.request(agents.complete, first)).applied, true);
  const late = { token: call.token, outcome: { kind: "approve" }, argumentsHash: call.argumentsHash } as const;
  const second = await daemon.request(agents.complete, late);
  assert.deepEqual([second.applied, second.resolution.kind, second.resolution.by], [false, "deny", "VS Code"]);
});

real("a step whose daemon is killed is asked again under its key, and tells that it was cut", async (world) => {
  const { place, daemon, sessions, followings } = world;
  place.agent("slow", asking({ text: "slow", delayMs: 60_000 }));
  const { sessionId } = await daemon.request(agents.start, { agent: "slow", prompt: "go", cwd: place.work });
  const attached: number[] = [];
  const follower = { attached: ({ seq }: { seq: number }) => void attached.push(seq), event: () => undefined };
  followings.follow(sessionId, { ...follower, failed: (problem) => assert.fail(String(problem)) });
  const step = daemon.request(agents.step, { sessionId });
  await until("the model is asked", () => sessions.summary(sessionId)?.activity === "model");
  const before = attached.length;
  await place.kill();
  const answer = await step;
  assert.deepEqual([answer.outcome, answer.interrupted], ["interrupted", true]);
  await until("it is followed again", () => attached.length > before);
  assert.equal(daemon.state.kind, "connected");
});

real("a daemon that is restarted is there again, with what there was", async ({ place, daemon, sessions }) => {
  place.agent("asker", asking({ calls: [bash("echo hi")] }, { text: "Done." }));
  await daemon.connect();
  const sessionId = await place.waiting("asker");
  await until("it is listed", () => sessions.get(sessionId));
  await daemon.request(agents.shutdown, { mode: "drain" });
  await daemon.ended();
  await daemon.connect();
  await until("it is listed again", () => sessions.waiting().length === 1);
});
