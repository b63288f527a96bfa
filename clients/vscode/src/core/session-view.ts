// A session in words, and what can be asked of it now.
import { homedir } from "node:os";
import type { Activity, LastError, Pending, Session } from "../protocol";
import { cut, escapeLine, escapeText } from "./escape";
import { homely } from "./home";
import type { QueuedView, SessionView, Verb } from "./page";

/** What happened that no row shows, and which extension ended the turn. */
export interface Besides {
  readonly words: readonly string[];
  readonly endedBy?: string | undefined;
}

/** `inputs` are how inputs begin, by their ids. */
export function sessionView(
  session: Session,
  activity: Activity,
  methods: ReadonlySet<string>,
  inputs: ReadonlyMap<string, string>,
  besides: Besides = { words: [] },
): SessionView {
  const open = session.turn !== undefined && session.turn.end === undefined && session.state !== "stopped";
  const ended = session.state === "stopped" || session.damaged !== undefined;
  const busy = activity !== "idle";
  return {
    sessionId: session.sessionId,
    title: cut(escapeLine(session.title), 120),
    agent: escapeLine(session.agent),
    cwd: escapeLine(homely(session.cwd, homedir())),
    ...status(session, activity),
    busy,
    usage: usageText(session),
    cost: session.usage.cost === undefined ? "unknown" : `${Number(session.usage.cost.toPrecision(6))}`,
    notices: notices(session, besides),
    queued: session.queued.map(
      ({ inputId, delivery }): QueuedView => ({ inputId, delivery, text: cut(escapeLine(inputs.get(inputId) ?? ""), 200) || "an input of another client" }),
    ),
    ...(session.parent !== undefined && { parent: session.parent }),
    can: verbs(session, busy, open, ended).filter((verb) => methods.has(`agents/${verb}`)),
    takesInput: !ended && methods.has("agents/send"),
    turnOpen: open,
    forks: methods.has("agents/fork") && session.damaged === undefined,
    rewinds: methods.has("agents/rewind") && !ended && !busy,
  };
}

function verbs(session: Session, busy: boolean, open: boolean, ended: boolean): readonly Verb[] {
  if (ended) {
    return [];
  }
  const paused = session.paused !== undefined;
  const unanswered = !open && session.turn?.end !== undefined && session.turn.end !== "answered";
  const all: readonly (readonly [Verb, boolean])[] = [
    ["step", open && !busy],
    ["run", open && !busy && !paused],
    ["continue", unanswered && !busy],
    ["pause", !paused && (open || busy)],
    ["resume", paused && !busy],
    ["cancel", open || busy],
  ];
  return all.filter(([, can]) => can).map(([verb]) => verb);
}

type Status = Pick<SessionView, "status" | "tone">;

function status(session: Session, activity: Activity): Status {
  if (session.damaged !== undefined) {
    return { status: "damaged: it can only be looked at", tone: "error" };
  }
  switch (activity) {
    case "model":
      return { status: "the model answers", tone: "busy" };
    case "tools":
      return { status: "tools run", tone: "busy" };
    case "stopping":
      return { status: "stopping", tone: "busy" };
    case "idle":
      return resting(session);
  }
}

function resting(session: Session): Status {
  const waiting = session.pending.filter((call) => call.kind !== "running");
  if (session.state === "stopped") {
    return { status: "closed for good", tone: "done" };
  }
  if (waiting.length > 0) {
    return { status: `waits for ${waitsFor(waiting)}`, tone: "waits" };
  }
  if (session.paused !== undefined) {
    return { status: "paused", tone: "ready" };
  }
  if (session.lastError !== undefined && session.state === "userTurn") {
    return { status: "the model call failed", tone: "error" };
  }
  switch (session.state) {
    case "completed":
      return completed(session);
    case "userTurn":
      return { status: "ready to ask the model", tone: "ready" };
    case "llmTurn":
      return { status: "ready to run what the model asked for", tone: "ready" };
    case "partialUserTurn":
      return session.pending.length > 0
        ? { status: "something runs in the background", tone: "busy" }
        : { status: "ready to run what is approved", tone: "ready" };
  }
}

function completed({ turn }: Session): Status {
  const ends = {
    answered: "answered",
    cancelled: "cancelled",
    failed: "refused for its content",
    tripped: "ended by an extension",
    limit: "ended at its limit",
  } as const;
  return turn?.end === undefined
    ? { status: "no input yet", tone: "ready" }
    : { status: `turn ${turn.n} ${ends[turn.end] ?? "ended"}`, tone: turn.end === "answered" ? "done" : "error" };
}

function waitsFor(calls: readonly Pending[]): string {
  const [first] = calls;
  const one = { approval: "an approval", external: "a result", question: "an answer", uncertain: "a decision", running: "" };
  return calls.length === 1 && first !== undefined ? one[first.kind] ?? "somebody" : `${calls.length} answers`;
}

/** What all turns have used, and apart from it what the last request has put before the model. */
export function usageText({ usage: used }: Session): string {
  const cached = used.cachedTokens === undefined ? "" : ` (${count(used.cachedTokens)} cached)`;
  const context = used.contextTokens === undefined ? "" : ` · context ${count(used.contextTokens)}`;
  return `${count(used.inputTokens)} tokens in${cached} · ${count(used.outputTokens)} out${context}`;
}

function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

function notices(session: Session, { words, endedBy }: Besides): readonly string[] {
  const missing = Object.entries(session.missingTools ?? {}).map(([tool, why]) => `without ${tool}: ${why}`);
  return [
    session.damaged && `damaged: ${session.damaged.reason}`,
    session.lastError && failure(session.lastError, endedBy),
    session.paused?.reason && `paused: ${session.paused.reason}`,
    session.configProblem,
    ...missing,
    ...words,
  ]
    .filter((text): text is string => typeof text === "string")
    .map((text) => cut(escapeText(text), 500));
}

function failure({ kind, message }: LastError, extension: string | undefined): string {
  const who = extension === undefined ? "an extension" : `the extension ${extension}`;
  return kind === "tripwire" ? `${who} ended it: ${message}` : `${kind}: ${message}`;
}
