// What lasts: a connection on demand, again and again, and what was open is asked again under its key.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AbeyError, type DaemonState } from "../../src/core/daemon";
import { LastingDaemon, type Pace } from "../../src/core/lasting";
import { LinkLost } from "../../src/core/link";
import { agents } from "../../src/protocol";
import { FakeMachine, type FakeLink } from "../support/fake-link";

const pace: Pace = { firstMs: 1, lastMs: 4, goodMs: 60_000, patienceMs: 60_000 };

function lasting(fake: FakeMachine, changed: Partial<Pace> = {}): { daemon: LastingDaemon; states: DaemonState[] } {
  const daemon = new LastingDaemon(fake.dial, () => undefined, { ...pace, ...changed });
  const states: DaemonState[] = [];
  daemon.onState((state) => states.push(state));
  return { daemon, states };
}

test("nothing is started before somebody asks, and then one for all", async () => {
  const fake = new FakeMachine(({ params }) => params);
  const { daemon, states } = lasting(fake);
  assert.deepEqual([daemon.state, [...daemon.methods], fake.links.length], [{ kind: "idle" }, [], 0]);
  await Promise.all([daemon.request(agents.list, {}), daemon.request(agents.status, {})]);
  assert.equal(fake.links.length, 1);
  assert.deepEqual(states, [{ kind: "connecting" }, { kind: "connected", build: "0.1.0", stateDir: "/state" }]);
  assert.deepEqual([...daemon.methods], ["agents/start", "agents/step"]);
});

test("an effect whose connection broke is asked again under the same key", async () => {
  const fake = new FakeMachine(({ connection }, link) => {
    if (connection === 1) {
      link.break();
      throw new LinkLost("the pipe broke");
    }
    return { outcome: "interrupted", interrupted: true };
  });
  const { daemon } = lasting(fake);
  const answer = await daemon.request(agents.step, { sessionId: "s" });
  assert.deepEqual(answer, { outcome: "interrupted", interrupted: true });
  const [first, second] = fake.asked;
  assert.match(String(first?.params["idempotencyKey"]), /^[0-9a-f-]{36}$/);
  assert.deepEqual(second, { ...first, connection: 2 });
});

test("a caller's own key is kept, and what has no effect has none", async () => {
  const fake = new FakeMachine(() => ({}));
  const { daemon } = lasting(fake);
  await daemon.request(agents.step, { sessionId: "s", idempotencyKey: "mine" });
  await daemon.request(agents.get, { sessionId: "s" });
  await daemon.request(agents.rules, { action: "list" });
  const keys = fake.asked.map(({ params }) => params["idempotencyKey"]);
  assert.deepEqual(keys, ["mine", undefined, undefined]);
});

for (const kind of ["daemon/gone", "daemon/draining"]) {
  test(`${kind} waits for the end of the connection, and is asked again`, async () => {
    const fake = new FakeMachine(({ connection }, link) => {
      if (connection === 1) {
        setImmediate(() => link.break());
        throw new AbeyError(-31021, kind, "it goes");
      }
      return "done";
    });
    const { daemon } = lasting(fake);
    assert.equal(await daemon.request(agents.start, {}), "done");
    assert.equal(fake.links.length, 2);
  });
}

test("an answer of the daemon is not asked again", async () => {
  const fake = new FakeMachine(() => {
    throw new AbeyError(-31002, "session/busy", "a step is running");
  });
  const { daemon } = lasting(fake);
  await assert.rejects(daemon.request(agents.step, { sessionId: "s" }), { kind: "session/busy", code: -31002 });
  assert.equal(fake.asked.length, 1);
});

test("an end that was asked for is not asked for again", async () => {
  const fake = new FakeMachine((_, link) => {
    link.break();
    throw new LinkLost("it went");
  });
  const { daemon } = lasting(fake);
  await assert.rejects(daemon.request(agents.shutdown, {}), { kind: "daemon/lost" });
  assert.equal(fake.asked.length, 1);
  await daemon.dispose();
});

test("it is tried without limit, at growing distances up to the last", async () => {
  const fake = new FakeMachine(() => "there");
  fake.refusals.push(...Array.from({ length: 5 }, () => new Error("exit 1")));
  const { daemon, states } = lasting(fake);
  assert.equal(await daemon.request(agents.get, { sessionId: "s" }), "there");
  const pauses = states.flatMap((state) => (state.kind === "lost" ? [state.retryInMs] : []));
  assert.deepEqual(pauses, [1, 2, 4, 4, 4]);
  const tries = states.flatMap((state) => (state.kind === "connecting" ? [state.again] : []));
  assert.deepEqual(tries, [undefined, ...Array.from({ length: 5 }, () => "exit 1")]);
});

test("what was done is told, and what failed is not", async () => {
  const fake = new FakeMachine(({ method }) => {
    if (method === "agents/step") {
      throw new AbeyError(-31004, "session/busy", "it works");
    }
    return "done";
  });
  const { daemon } = lasting(fake);
  const done: string[] = [];
  daemon.onDone(({ method }) => done.push(method));
  await daemon.request(agents.status, {});
  await assert.rejects(daemon.request(agents.step, { sessionId: "s" }), { kind: "session/busy" });
  await daemon.execute("abey.complete", {});
  assert.deepEqual(done, ["agents/status", "workspace/executeCommand"]);
});

test("after a good connection the first pause is short again", async () => {
  const fake = new FakeMachine(() => "there");
  fake.refusals.push(new Error("exit 1"), new Error("exit 1"));
  const { daemon, states } = lasting(fake, { goodMs: 0 });
  await daemon.connect();
  const again = new Promise<void>((resolve) => {
    daemon.onState(({ kind }) => kind === "connected" && resolve());
  });
  (fake.links[0] as FakeLink).break();
  await again;
  const pauses = states.flatMap((state) => (state.kind === "lost" ? [state.retryInMs] : []));
  assert.deepEqual(pauses, [1, 2, 1]);
});

test("a program that is missing ends the trying, until somebody asks again", async () => {
  const fake = new FakeMachine(() => "there");
  fake.refusals.push(new AbeyError(0, "daemon/missing", "abey-daemon was not found"));
  const { daemon } = lasting(fake);
  await assert.rejects(daemon.request(agents.status, {}), { kind: "daemon/missing" });
  assert.deepEqual(daemon.state, { kind: "missing" });
  assert.equal(await daemon.request(agents.status, {}), "there");
});

test("a request does not wait for a connection for ever", async () => {
  const fake = new FakeMachine(() => "there");
  fake.refusals.push(...Array.from({ length: 100 }, () => new Error("exit 1")));
  const { daemon } = lasting(fake, { patienceMs: 20 });
  const message = "the daemon cannot be reached: exit 1; what it said itself is in the log (Abey: Show Log)";
  await assert.rejects(daemon.request(agents.status, {}), { kind: "daemon/lost", message });
  await daemon.dispose();
});

test("after dispose nothing is connected", async () => {
  const fake = new FakeMachine(() => "there");
  const { daemon } = lasting(fake);
  await daemon.connect();
  await daemon.dispose();
  await assert.rejects(daemon.request(agents.status, {}), { kind: "daemon/lost" });
  assert.equal(fake.links.length, 1);
});
