// What is said to people, in one place.
import type { Session } from "../protocol";
import { AbeyError, type DaemonState } from "./daemon";
import { cut, escapeLine } from "./escape";

/** What to do about an error, where something here helps. */
const next: Readonly<Record<string, string>> = {
  "session/unknown": "it may have been deleted",
  "session/busy": "it works at the moment; wait for it, or cancel",
  "session/stopped": "start another session",
  "record/failed": "free the disk, then reopen the session with `abey session reopen`",
  "protocol/unsupported": "restart the daemon; sessions stay",
  "model/auth": "set the key, then resume the session",
  "agent/invalid": "open the agent's file to see what is wrong with it",
};

/** An error in a line, escaped: what, which kind, what to do. */
export function errorText(problem: unknown): string {
  if (!(problem instanceof AbeyError)) {
    return escapeLine(problem instanceof Error ? problem.message : String(problem));
  }
  const advice = next[problem.kind];
  return escapeLine(problem.message) + (advice === undefined ? "" : ` (${advice})`);
}

/** How long ago, in one unit: `now`, `5 min`, `3 h`, `2 d`. */
export function age(at: string, now: number): string {
  const minutes = Math.floor((now - Date.parse(at)) / 60_000);
  if (!(minutes >= 1)) {
    return "now";
  }
  const hours = Math.floor(minutes / 60);
  return minutes < 60 ? `${minutes} min` : hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** What a session has cost: only the daemon knows. */
export function costText(session: Session): string {
  const { cost } = session.usage;
  return cost === undefined ? "cost unknown" : `cost ${Number(cost.toPrecision(6))}`;
}

/** What it is doing or needs, in a word or two. */
export function stateText(session: Session): string {
  const waiting = session.pending.filter((call) => call.kind !== "running").length;
  const doing = { idle: "", model: "asks the model", tools: "runs tools", stopping: "stopping" }[session.activity];
  if (doing) {
    return doing;
  }
  if (waiting > 0) {
    return `${waiting} waiting`;
  }
  if (session.paused) {
    return "paused";
  }
  if (session.lastError && session.state !== "stopped") {
    return `failed: ${cut(escapeLine(session.lastError.message), 80)}`;
  }
  return {
    completed: session.turn ? "done" : "new",
    stopped: "closed",
    userTurn: "ready",
    llmTurn: "ready",
    partialUserTurn: "ready",
  }[session.state];
}

/** A daemon that is there again; of another build than `before`, that is worth more than a moment. */
export function backText(before: string | undefined, now: string): { readonly text: string; readonly another: boolean } {
  const another = before !== undefined && before !== now;
  return another
    ? { text: `the daemon is another one now, ${now}; sessions are as they were`, another }
    : { text: "connected again", another };
}

/** Of a line that `abey-daemon --stdio` says to people: that the daemon is of another build than the program. */
export function otherBuild(line: string): string | undefined {
  return /^abey-daemon: (the daemon \(pid \d+\) is of build [^;]*)/.exec(line)?.[1];
}

/** The status bar item; hidden where there is nothing to say. */
export function statusText(waiting: number, running: boolean, daemon: DaemonState): string | undefined {
  if (daemon.kind === "lost" || (daemon.kind === "connecting" && daemon.again !== undefined)) {
    return "Abey: reconnecting";
  }
  return waiting > 0 ? `Abey: ${waiting} waiting` : running ? "Abey: running" : undefined;
}
