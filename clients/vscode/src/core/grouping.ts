// Sessions by what they need.
import type { Session, Summary } from "../protocol";

export const groups = ["waiting", "running", "ready", "completed", "closed"] as const;
export type Group = (typeof groups)[number];

export const groupNames: Readonly<Record<Group, string>> = {
  waiting: "Waiting for you",
  running: "Running",
  ready: "Ready",
  completed: "Completed",
  closed: "Closed",
};

/** What goes on at the moment, as the newest summary says; a session in an answer may be older. */
export function activityOf(session: Session, summary: Summary | undefined): Session["activity"] {
  return summary !== undefined && summary.revision >= session.revision ? summary.activity : session.activity;
}

export function groupOf(session: Session, activity: Session["activity"]): Group {
  if (session.state === "stopped") {
    return "closed";
  }
  if (activity !== "idle") {
    return "running";
  }
  if (session.pending.some((call) => call.kind !== "running")) {
    return "waiting";
  }
  if (session.pending.length > 0) {
    return "running";
  }
  return session.state === "completed" && session.queued.length === 0 ? "completed" : "ready";
}

/** What a row can do, as words of its `contextValue`. */
export function sessionWords(session: Session, group: Group, activity: Session["activity"]): string {
  const idle = activity === "idle";
  const open = session.state !== "stopped" && session.damaged === undefined;
  return [
    "session",
    ...(open && idle && group !== "completed" ? ["steps"] : []),
    ...(open && (!idle || group === "running") ? ["cancels"] : []),
    ...(open ? [session.paused ? "paused" : "unpaused"] : []),
    ...(open ? ["open"] : ["over"]),
  ].join(" ");
}
