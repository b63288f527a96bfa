// Who looks at a call hears once who answered it, and that it changed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Followings } from "../../src/core/following";
import { watch } from "../../src/core/watching";
import type { Pending, Session } from "../../src/protocol";
import { FakeDaemon } from "../support/fake-daemon";
import { pending, session } from "../support/samples";

const call = pending();

function watched(now: Session, items: readonly unknown[] = []) {
  const daemon = new FakeDaemon({
    "agents/attach": () => ({ snapshot: { session: now, items: [] }, replay: [], seq: 1 }),
    "agents/detach": () => ({}),
    "agents/transcript": () => ({ items, hasMore: false }),
  });
  const heard: string[] = [];
  const watching = watch(daemon, new Followings(daemon), call, {
    changed: () => heard.push("changed"),
    answered: (text) => heard.push(text),
    failed: (problem) => heard.push(String(problem)),
  });
  let seq = 1;
  const tell = (event: object): void =>
    daemon.event.fire({ sessionId: "s1", seq: ++seq, revision: 3, at: "then", event: { ...event } });
  return { heard, tell, watching };
}

const waits = (changed: Partial<Pending> = {}): Session => session({ pending: [pending(changed)] });
const resolved = { type: "pending/resolved", pending: call, resolution: { text: "denied by ada" } };

test("who answers it is told once", async () => {
  const { heard, tell } = watched(waits());
  await turn();
  tell({ type: "pending/resolved", pending: pending({ token: "t2" }), resolution: { text: "of another" } });
  tell(resolved);
  tell({ type: "session/updated", session: session() });
  await turn();
  assert.deepEqual(heard, ["denied by ada"]);
});

test("that it changed is told", async () => {
  const { heard, tell } = watched(waits());
  await turn();
  tell({ type: "session/updated", session: waits() });
  tell({ type: "session/updated", session: waits({ argumentsHash: "other" }) });
  assert.deepEqual(heard, ["changed"]);
});

test("of one that was answered before anybody listened the transcript tells", async () => {
  const answered = { token: call.token, state: "denied", decision: { by: "ada", at: "then", edited: false } };
  const { heard } = watched(session(), [{ itemId: "1", call: answered }]);
  await turn();
  await turn();
  assert.deepEqual(heard, ["denied by ada at then"]);
});

test("who looks away hears no more", async () => {
  const { heard, tell, watching } = watched(waits());
  await turn();
  watching.dispose();
  tell(resolved);
  assert.deepEqual(heard, []);
});
