// The store of sessions: read once a connection, then what the summaries say has changed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { AbeyError } from "../../src/core/daemon";
import { LastingDaemon } from "../../src/core/lasting";
import { Sessions } from "../../src/core/sessions";
import type { Session, Summary } from "../../src/protocol";
import { FakeMachine } from "../support/fake-link";
import { pending, session, summary } from "../support/samples";

interface World {
  readonly fake: FakeMachine;
  readonly daemon: LastingDaemon;
  readonly sessions: Sessions;
  readonly problems: unknown[];
}

/** Connected, with the sessions that the daemon has. */
async function world(all: Map<string, Session>, summaries: readonly Summary[] = []): Promise<World> {
  const fake = new FakeMachine(({ method, params }) => {
    switch (method) {
      case "agents/attach":
        return { replay: [], seq: 0, summaries };
      case "agents/sessions":
        return params["cursor"] === "older"
          ? { usage: {}, items: [session({ sessionId: "old", createdAt: "2026-01-01T00:00:00.000Z" })], damaged: [] }
          : {
              usage: {},
              items: [...all.values()].filter(({ archived }) => !archived),
              damaged: [],
              nextCursor: "older",
            };
      default: {
        const found = all.get(String(params["sessionId"]));
        if (found === undefined) {
          throw new AbeyError(-31001, "session/unknown", "no such session");
        }
        return { session: found };
      }
    }
  });
  const daemon = new LastingDaemon(fake.dial, () => undefined);
  const problems: unknown[] = [];
  const sessions = new Sessions(daemon, (problem) => problems.push(problem));
  await daemon.connect();
  await sessions.load();
  await turn();
  return { fake, daemon, sessions, problems };
}

test("the newest session is first, and older pages come when they are asked for", async () => {
  const { sessions } = await world(new Map([["s1", session()]]));
  assert.deepEqual([sessions.all().map((each) => each.sessionId), sessions.hasMore], [["s1"], true]);
  await sessions.loadMore();
  assert.deepEqual([sessions.all().map((each) => each.sessionId), sessions.hasMore], [["s1", "old"], false]);
});

test("calls that wait are listed, oldest first, and those that run are not", async () => {
  const calls = [
    pending({ token: "b", createdAt: "2026-11-29T18:00:02.000Z" }),
    pending({ token: "a", createdAt: "2026-11-29T18:00:01.000Z" }),
    pending({ token: "r", kind: "running" }),
  ];
  const { sessions } = await world(new Map([["s1", session({ pending: calls })]]));
  assert.deepEqual(
    sessions.waiting().map(({ token }) => token),
    ["a", "b"],
  );
  assert.equal(sessions.call("b")?.token, "b");
  assert.equal(sessions.call("r"), undefined);
});

test("a session that waits and is in no page is read by its id", async () => {
  const archived = session({ sessionId: "away", archived: true, pending: [pending({ sessionId: "away" })] });
  const { sessions } = await world(new Map([["away", archived]]), [summary({ sessionId: "away", pendingCount: 1 })]);
  assert.deepEqual(
    sessions.waiting().map(({ sessionId }) => sessionId),
    ["away"],
  );
});

test("the count is that of the summaries, before the session was read again", async () => {
  const { fake, sessions } = await world(new Map([["s1", session()]]), [summary()]);
  assert.equal(sessions.waitingCount, 0);
  fake.links[0]?.told.summary(summary({ pendingCount: 2, activity: "tools", revision: 5 }));
  assert.deepEqual([sessions.waitingCount, sessions.running], [2, true]);
});

test("a summary has its session read again, and one that is deleted goes", async () => {
  const all = new Map([["s1", session()]]);
  const { fake, sessions } = await world(all);
  all.set("s1", session({ revision: 9, title: "another" }));
  fake.links[0]?.told.summary(summary({ revision: 9 }));
  await turn();
  assert.equal(sessions.get("s1")?.title, "another");
  fake.links[0]?.told.summary(summary({ deleted: true }));
  assert.deepEqual(sessions.all(), []);
});

test("an older answer does not take the place of a newer one, but for another session of the id", async () => {
  const { sessions } = await world(new Map([["s1", session({ revision: 5 })]]));
  sessions.saw(session({ revision: 4, title: "older" }));
  assert.equal(sessions.get("s1")?.revision, 5);
  sessions.saw(session({ revision: 1, createdAt: "2026-12-01T00:00:00.000Z" }));
  assert.equal(sessions.get("s1")?.revision, 1);
});

test("a new connection reads everything again, and what is gone is gone", async () => {
  const all = new Map([["s1", session()]]);
  const { fake, daemon, sessions } = await world(all);
  all.clear();
  const again = new Promise<void>((resolve) => daemon.onState(({ kind }) => kind === "connected" && resolve()));
  fake.links[0]?.break();
  await again;
  await sessions.load();
  assert.deepEqual(sessions.all(), []);
});

test("a session that is gone before it was read is no problem, and what else fails is one", async () => {
  const { fake, sessions, problems } = await world(new Map([["s1", session()]]));
  fake.links[0]?.told.summary(summary({ sessionId: "gone" }));
  await turn();
  assert.deepEqual([sessions.get("gone"), problems], [undefined, []]);
});
