// A decision, sent; and what came of it.
import { agents, type CompleteParams, type Pending } from "../protocol";
import { pendingCall, whoAnswered } from "./calls";
import { AbeyError, type Daemon } from "./daemon";
import { record } from "./given";
import type { Decided } from "./review";
import { errorText } from "./wording";

export type Came =
  /** Somebody's answer counts, in a line for people: ours, or that of who was first. */
  | { readonly kind: "answered"; readonly ours: boolean; readonly text: string }
  /** It is another call than the one that was shown, and still waits. */
  | { readonly kind: "changed"; readonly pending: Pending }
  /** It still waits, for this reason. */
  | { readonly kind: "refused"; readonly text: string };

/** Whether a request approves a call, by whichever way. */
export function approves({ method, params }: { readonly method: string; readonly params: unknown }): boolean {
  if (method === agents.complete.name) {
    return (params as CompleteParams).outcome.kind === "approve";
  }
  const { command, arguments: given = [] } = record(params) as { readonly command?: unknown; readonly arguments?: readonly unknown[] };
  return command === "abey.complete" && record(given[0])["decision"] === "approve";
}

/** `shown` is the call as somebody saw it; what they decided is about nothing else. */
export async function decide(daemon: Daemon, shown: Pending, decided: Decided): Promise<Came> {
  if (decided.argumentsHash !== shown.argumentsHash) {
    return { kind: "changed", pending: shown };
  }
  const { token, argumentsHash } = shown;
  const { outcome, resume, rule } = decided;
  try {
    const params = { token, outcome, argumentsHash, resume, wait: false, ...(rule === undefined ? {} : { rule }) };
    const { applied, resolution } = await daemon.request(agents.complete, params);
    return { kind: "answered", ours: applied, text: resolution.text };
  } catch (problem) {
    return cameOf(daemon, shown, problem);
  }
}

/** What became of a call whose answer failed. */
export async function cameOf(daemon: Daemon, shown: Pending, problem: unknown): Promise<Came> {
  if (!(problem instanceof AbeyError)) {
    throw problem;
  }
  if (problem.kind === "daemon/lost" || problem.kind === "daemon/missing") {
    return { kind: "refused", text: errorText(problem) };
  }
  const { sessionId, token, argumentsHash } = shown;
  const now = await pendingCall(daemon, token, sessionId);
  if (now === undefined) {
    return { kind: "answered", ours: false, text: await whoAnswered(daemon, sessionId, token) };
  }
  return now.argumentsHash === argumentsHash
    ? { kind: "refused", text: errorText(problem) }
    : { kind: "changed", pending: now };
}
