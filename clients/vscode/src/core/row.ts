// One thing in a timeline: an item of the transcript, or what streams of one that is not recorded yet.
import type { Item, ItemCall } from "../protocol";

/** What streams: `reached` counts characters as the daemon does (code points); unknown after a part was left out. */
export interface Stream {
  readonly text: string;
  readonly reached: number | undefined;
}

/** How far a running tool says it is. */
export interface Progress {
  readonly message?: string;
  readonly progress?: number;
  readonly total?: number;
}

/** A piece of an answer, as `item/delta` has it. */
export interface Delta {
  readonly itemId: string;
  readonly kind: "answer" | "thinking";
  readonly offset: number;
  readonly text: string;
}

/** A piece of what a tool prints, or how far it is. */
export interface ToolProgress extends Progress {
  readonly callId: string;
  readonly offset?: number;
  readonly text?: string;
}

export interface Row {
  readonly item: Item;
  /** Streams, and is recorded nowhere yet. */
  readonly draft?: Stream;
  /** What a running call has printed so far. */
  readonly printed?: Stream;
  readonly progress?: Progress;
}

/** Of what a running call prints the end is kept; `agents/output` has all of it. */
export const printedKept = 64 * 1024;

export const nothing: Stream = { text: "", reached: 0 };

export function isFinal(call: ItemCall): boolean {
  return ["completed", "failed", "denied", "cancelled", "expired"].includes(call.state);
}

/** How far a tool is, of what it tells; 0 counts, too. */
export function progressOf({ message, progress, total }: Progress): Progress {
  return {
    ...(message !== undefined && { message }),
    ...(progress !== undefined && { progress }),
    ...(total !== undefined && { total }),
  };
}

/** The items of one answer share what stands before the last dot of their ids. */
export function stepOf(itemId: string): string {
  return itemId.slice(0, itemId.lastIndexOf("."));
}

/**
 * `stream` with a piece that begins at `offset`. What it has already is not added twice, a gap is told, and an offset
 * of 0 with another text is a new beginning. `whole` is false where the piece was not just added at the end.
 */
export function extend(stream: Stream, offset: number, piece: string): { stream: Stream; added: string; whole: boolean } {
  const characters = [...piece];
  const end = offset + characters.length;
  const reached = stream.reached ?? offset;
  if (offset === 0 && reached > 0 && !stream.text.startsWith(piece)) {
    return { stream: { text: piece, reached: end }, added: "", whole: false };
  }
  const gap = offset > reached ? leftOut(offset - reached, stream.text) : "";
  const added = gap + characters.slice(Math.max(0, reached - offset)).join("");
  return { stream: { text: stream.text + added, reached: Math.max(reached, end) }, added, whole: true };
}

/** `stream`, where it is too long, without its beginning. */
export function trimmed(stream: Stream, limit: number): Stream {
  return stream.text.length <= 2 * limit ? stream : { text: stream.text.slice(-limit), reached: stream.reached };
}

function leftOut(count: number, before: string): string {
  return `${before === "" || before.endsWith("\n") ? "" : "\n"}[… ${count} characters left out …]\n`;
}
