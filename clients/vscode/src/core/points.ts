// Where a session can be taken back to, of a page of its transcript.
import type { Item, TranscriptResult } from "../protocol";

export interface Moment {
  readonly revision: number;
  /** What came there, not escaped. */
  readonly text: string;
  readonly at: string;
}

/** Oldest first, each revision once: inputs, answers, calls before they ran, and the results of all that were asked for. */
export function pointsOf({ items, resultsAt = {} }: Pick<TranscriptResult, "items" | "resultsAt">): Moment[] {
  const found = new Map<number, Moment>();
  for (const item of items) {
    const { revision, at, call } = item;
    if (item.kind !== "thinking" && item.kind !== "note") {
      found.set(revision, { revision, text: textOf(item), at });
    }
    const results = call && resultsAt[call.callId];
    if (call !== undefined && results !== undefined) {
      found.set(results, { revision: results, text: `the results of ${call.tool}`, at: call.endedAt ?? at });
    }
  }
  return [...found.values()].sort((one, other) => one.revision - other.revision);
}

function textOf({ kind, text, parts, call }: Item): string {
  if (call !== undefined) {
    return `${call.tool} ${JSON.stringify(call.arguments)}`;
  }
  return text ?? parts?.map((part) => (part.kind === "text" ? part.text : (part.path ?? part.kind))).join(" ") ?? kind;
}
