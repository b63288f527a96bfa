// Values of the protocol, whole, with what a test is about changed.
import type { Pending, Session, Summary } from "../../src/protocol";

export function session(changed: Partial<Session> = {}): Session {
  return {
    sessionId: "s1",
    agent: "helper",
    title: "What time is it?",
    cwd: "/work",
    state: "userTurn",
    activity: "idle",
    revision: 2,
    pending: [],
    queued: [],
    drivenBy: "step",
    executionMode: "asynchronous",
    usage: { inputTokens: 0, outputTokens: 0 },
    createdAt: "2026-11-29T18:00:00.000Z",
    updatedAt: "2026-11-29T18:00:00.000Z",
    children: [],
    configHash: "0",
    configState: "ok",
    ...changed,
  };
}

export function pending(changed: Partial<Pending> = {}): Pending {
  return {
    token: "t1",
    sessionId: "s1",
    turnId: "turn",
    callId: "call_1_1",
    kind: "approval",
    tool: "shell",
    title: "shell",
    arguments: {},
    argumentsHash: "hash",
    editable: true,
    cwd: "/work",
    reason: "approval required",
    suggestions: [],
    createdAt: "2026-11-29T18:00:01.000Z",
    ...changed,
  };
}

export function summary(changed: Partial<Summary> = {}): Summary {
  return {
    sessionId: "s1",
    title: "What time is it?",
    cwd: "/work",
    state: "userTurn",
    activity: "idle",
    revision: 2,
    pendingCount: 0,
    attention: "none",
    ...changed,
  };
}
