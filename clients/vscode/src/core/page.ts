// What the panel and its page say to each other. Every text in it is escaped already, but for the page's own input.
import type { Delivery } from "../protocol";

/** Where a session can be forked, or taken back to: after a revision, or once a call and those beside it had results. */
export type Point = { readonly revision: number } | { readonly resultsOf: string };

interface AnyRow {
  readonly id: string;
  readonly turnId: string;
  readonly at: string;
  /** At which it came; absent of what is not recorded yet. */
  readonly revision?: number;
}

export interface TextRow extends AnyRow {
  readonly kind: "input" | "thinking" | "answer" | "note";
  readonly text: string;
  readonly streams: boolean;
}

export interface CallRow extends AnyRow {
  readonly kind: "call";
  readonly callId: string;
  readonly tool: string;
  /** The arguments in a line, for the head of the card. */
  readonly summary: string;
  readonly arguments: string;
  /** What was proposed, where an approval changed it. */
  readonly proposed?: string;
  readonly state: string;
  /** Nothing more comes of it. */
  readonly ended: boolean;
  /** Who decided what, or what the policy said, in words. */
  readonly decision: string;
  readonly output: string;
  /** There is more of it than is shown: `output` opens all of it. */
  readonly more: boolean;
  /** It is still being printed. */
  readonly streams: boolean;
  readonly progress: string;
  readonly mayHaveRun: boolean;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly childId?: string;
  readonly waits?: WaitView;
}

/**
 * What a call waits for. `approvable`: the card shows all that would run, so that it can be approved on it.
 * `continues`: the session is driven on after an approval, as it was before.
 */
export interface WaitView {
  readonly token: string;
  readonly kind: string;
  readonly reason: string;
  readonly cwd: string;
  readonly question: string;
  readonly argumentsHash: string;
  readonly approvable: boolean;
  readonly deniable: boolean;
  readonly continues: boolean;
}

export type RowView = TextRow | CallRow;

export interface QueuedView {
  readonly inputId: string;
  readonly delivery: Delivery;
  readonly text: string;
}

export type Verb = "step" | "run" | "pause" | "resume" | "cancel" | "continue";

export interface SessionView {
  readonly sessionId: string;
  readonly title: string;
  readonly agent: string;
  readonly cwd: string;
  /** What the session does or waits for, in words; `busy` while something works. */
  readonly status: string;
  readonly tone: "busy" | "waits" | "ready" | "done" | "error";
  readonly busy: boolean;
  readonly usage: string;
  readonly cost: string;
  readonly notices: readonly string[];
  readonly queued: readonly QueuedView[];
  /** The session that this one works for. */
  readonly parent?: string;
  /** What can be asked of it now. */
  readonly can: readonly Verb[];
  /** Input is taken; without an open turn there is nothing to queue behind or to interrupt. */
  readonly takesInput: boolean;
  readonly turnOpen: boolean;
  readonly forks: boolean;
  readonly rewinds: boolean;
}

export type Op =
  | { readonly kind: "splice"; readonly at: number; readonly remove: number; readonly rows: readonly RowView[] }
  | { readonly kind: "put"; readonly row: RowView }
  | { readonly kind: "append"; readonly id: string; readonly text: string };

/** What became of an input that the page has sent; without a problem it is recorded. */
export interface Receipt {
  readonly inputId: string;
  readonly problem?: string;
}

/** All that the page is ever told; the next one comes when this one is painted. */
export interface Frame {
  readonly kind: "frame";
  readonly n: number;
  /** The page knows nothing yet: `ops` begin with an empty list. */
  readonly reset: boolean;
  readonly ops: readonly Op[];
  readonly hasMore: boolean;
  readonly session?: SessionView;
  /** Something is wrong with the connection, or with the last thing that was asked for. */
  readonly trouble: string;
  readonly receipts: readonly Receipt[];
}

export type After = "turn" | "step" | "none";

export type FromPage =
  | { readonly kind: "ready"; readonly anchor?: string }
  | { readonly kind: "painted"; readonly n: number }
  | { readonly kind: "older"; readonly all: boolean }
  | { readonly kind: "verb"; readonly verb: Verb }
  | { readonly kind: "send"; readonly inputId: string; readonly text: string; readonly delivery: Delivery; readonly run: After }
  | { readonly kind: "withdraw"; readonly inputId: string }
  | { readonly kind: "review"; readonly token: string }
  | { readonly kind: "approve"; readonly token: string; readonly argumentsHash: string; readonly resume: boolean }
  | { readonly kind: "deny"; readonly token: string }
  | { readonly kind: "fork"; readonly at: Point }
  | { readonly kind: "rewind"; readonly to: Point }
  | { readonly kind: "output"; readonly callId: string }
  | { readonly kind: "session"; readonly sessionId: string }
  | { readonly kind: "link"; readonly href: string }
  | { readonly kind: "keep"; readonly state: PageState };

/** What the page keeps over a reload: by itself, and with the panel, as VS Code writes the former only at times. */
export interface PageState {
  readonly sessionId: string;
  /** When this was so, in milliseconds: the newer one counts. */
  readonly at: number;
  /** The row at the top of what is seen, and how far above the top it begins; absent: the end is followed. */
  readonly anchor?: { readonly id: string; readonly above: number };
  readonly unfolded: readonly string[];
  readonly folded: readonly string[];
  readonly draft: string;
  readonly delivery: Delivery;
  readonly after: After;
}

/** What the tests look at. */
export interface Counts {
  /** Rows in the document now, and the most there ever were. */
  rendered: number;
  mostRendered: number;
  /** Frames that came, and paints: never more of the former. */
  frames: number;
  paints: number;
  /** How often the list was built from nothing: once. */
  fullRenders: number;
  /** Rows that were built or built anew. */
  rowRenders: number;
}
