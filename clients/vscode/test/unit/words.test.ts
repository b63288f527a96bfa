// What is said to people.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AbeyError } from "../../src/core/daemon";
import { doctorText } from "../../src/core/doctor";
import { activityOf, groupOf, sessionWords } from "../../src/core/grouping";
import { installLine } from "../../src/core/installing";
import { Notices, noticeText } from "../../src/core/notices";
import { explanation, ruleText } from "../../src/core/policy";
import { age, backText, costText, errorText, otherBuild, stateText, statusText } from "../../src/core/wording";
import type { Rule, Session } from "../../src/protocol";
import { pending, session, summary } from "../support/samples";

test("an error says what, and what to do", () => {
  assert.equal(
    errorText(new AbeyError(-31002, "session/busy", "it is busy\n")),
    "it is busy\\n (it works at the moment; wait for it, or cancel)",
  );
  assert.equal(errorText(new AbeyError(-1, "new/kind", "what")), "what");
  assert.equal(errorText(new Error("no")), "no");
});

test("ages are in one unit", () => {
  const at = "2026-11-29T18:00:00.000Z";
  const ages = [0, 59, 60, 3599, 3600, 47 * 3600, 48 * 3600].map((seconds) => age(at, Date.parse(at) + seconds * 1000));
  assert.deepEqual(ages, ["now", "now", "1 min", "59 min", "1 h", "47 h", "2 d"]);
});

test("a cost is what the daemon says, else unknown", () => {
  assert.equal(costText(session()), "cost unknown");
  assert.equal(costText(session({ usage: { inputTokens: 1, outputTokens: 1, cost: 0.012345678 } })), "cost 0.0123457");
  assert.equal(costText(session({ usage: { inputTokens: 1, outputTokens: 1, cost: 0 } })), "cost 0");
});

const turn = { turnId: "t", n: 1, startedAt: "2026-11-29T18:00:00.000Z" };
const cases: readonly (readonly [Partial<Session>, string, string, string])[] = [
  [{ activity: "model" }, "asks the model", "running", "session cancels unpaused open"],
  [{ pending: [pending()] }, "1 waiting", "waiting", "session steps unpaused open"],
  [
    { pending: [pending({ kind: "running" })], state: "partialUserTurn" },
    "ready",
    "running",
    "session steps cancels unpaused open",
  ],
  [{ paused: { at: turn.startedAt } }, "paused", "ready", "session steps paused open"],
  [
    { lastError: { kind: "model/auth", message: "no\nkey", at: turn.startedAt } },
    "failed: no\\nkey",
    "ready",
    "session steps unpaused open",
  ],
  [{ state: "llmTurn" }, "ready", "ready", "session steps unpaused open"],
  [{ state: "completed", turn }, "done", "completed", "session unpaused open"],
  [{ state: "completed" }, "new", "completed", "session unpaused open"],
  [
    { state: "completed", queued: [{ inputId: "i", delivery: "queue" }] },
    "new",
    "ready",
    "session steps unpaused open",
  ],
  [{ state: "stopped" }, "closed", "closed", "session over"],
];
for (const [changed, said, group, words] of cases) {
  test(`a session in words: ${said}, ${group}`, () => {
    const one = session(changed);
    const found = groupOf(one, one.activity);
    assert.deepEqual([stateText(one), found, sessionWords(one, found, one.activity)], [said, group, words]);
  });
}

test("what goes on is as the newer of session and summary says", () => {
  assert.equal(activityOf(session(), summary({ activity: "tools" })), "tools");
  assert.equal(activityOf(session({ revision: 5 }), summary({ activity: "tools" })), "idle");
  assert.equal(activityOf(session({ activity: "model" }), undefined), "model");
});

test("the status bar is hidden where there is nothing to say", () => {
  const connected = { kind: "connected", build: "1", stateDir: "/s" } as const;
  assert.equal(statusText(2, true, connected), "Abey: 2 waiting");
  assert.equal(statusText(0, true, connected), "Abey: running");
  assert.equal(statusText(0, false, connected), undefined);
  assert.equal(statusText(2, false, { kind: "lost", why: "killed", retryInMs: 200 }), "Abey: reconnecting");
  assert.equal(statusText(2, false, { kind: "connecting", again: "killed" }), "Abey: reconnecting");
  assert.equal(statusText(0, false, { kind: "connecting" }), undefined);
});

test("a daemon of another build says which one it is", () => {
  assert.deepEqual(backText("1", "1"), { text: "connected again", another: false });
  assert.deepEqual(backText(undefined, "1"), { text: "connected again", another: false });
  const line = "abey-daemon: the daemon (pid 7) is of build '0.0.9', this is '0.1.0'; `abey daemon restart` makes them one";
  assert.equal(otherBuild(line), "the daemon (pid 7) is of build '0.0.9', this is '0.1.0'");
  assert.equal(otherBuild("abey-daemon: the daemon is gone"), undefined);
  assert.deepEqual(backText("1", "2"), { text: "the daemon is another one now, 2; sessions are as they were", another: true });
});

test("one notification for all of this window that nobody was told of", () => {
  const notices = new Notices();
  const [one, two] = [pending({ token: "1" }), pending({ token: "2" })];
  const elsewhere = pending({ token: "3", cwd: "/workshop" });
  const next = (calls: readonly ReturnType<typeof pending>[], visible = false): readonly string[] =>
    notices.next(calls, ["/work"], visible).map(({ token }) => token);
  assert.deepEqual(next([one, elsewhere]), ["1"]);
  assert.deepEqual(next([one, elsewhere]), []);
  assert.deepEqual(next([one, two]), ["1", "2"]);
  assert.deepEqual(next([one, two, pending({ token: "4" })], true), []);
  assert.deepEqual(next([pending({ token: "4" })]), [], "it was seen in a view");
});

test("what the notification says cannot act", () => {
  const title = (): string => "[now](command:abey.approve)\u202e";
  assert.equal(noticeText([pending()], title), "Abey: “[now] (command:abey.approve)\\u202e” waits for you (shell)");
  assert.equal(noticeText([pending(), pending()], title), "Abey: calls wait for you");
});

test("what the doctor found, the worst first", () => {
  const findings = [
    { check: "disk", severity: "ok", message: "room" },
    { check: "lock", severity: "error", message: "held", advice: "end it" },
  ] as const;
  assert.equal(doctorText({ findings }), "error   lock: held\n        → end it\nok      disk: room\n");
});

test("a rule, and why a call would wait", () => {
  const rule: Rule = {
    ruleId: "r",
    tool: "shell",
    match: { "/command": "date" },
    disposition: "runSync",
    scope: "user",
    origin: "me",
    createdAt: turn.startedAt,
    uses: 1,
  };
  assert.equal(ruleText(rule), 'shell when /command is "date": runSync');
  const result = {
    disposition: { tag: "defer", reason: "ask" },
    chain: [{ layer: "agent", rule: null, matched: true, why: "the default" }],
  } as const;
  assert.equal(
    explanation({ tool: "shell", arguments: { command: "ls" } }, result),
    'shell {"command":"ls"}\n  defer (ask)\n\nAsked, in this order:\n\n→ agent     the default\n',
  );
});

test("the lines that install quote what a shell would read", () => {
  assert.equal(installLine("uv", "abey", "/v"), "uv tool install abey");
  assert.equal(installLine("pipx", "/my files/abey.whl", "/v"), "pipx install '/my files/abey.whl'");
  assert.equal(
    installLine("venv", "it's.whl", "/h/a b"),
    "python3 -m venv '/h/a b' && '/h/a b/bin/pip' install 'it'\\''s.whl'",
  );
});
