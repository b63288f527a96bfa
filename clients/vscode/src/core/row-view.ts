// A row of the timeline as the page shows it: words, cut to what fits a card, and nothing in it that could act.
import { homedir } from "node:os";
import type { ItemCall, Part, Pending, Session } from "../protocol";
import { escapeLine, escapeText } from "./escape";
import { homely } from "./home";
import type { CallRow, RowView, TextRow, WaitView } from "./page";
import { escapeProse } from "./prose";
import { isFinal, type Progress, type Row } from "./row";

/** Longer arguments and outputs are cut on a card; a review, or the whole output, is one click away. */
export const argumentsShown = 2000;
export const outputShown = 4000;
const summaryShown = 160;
/** Of a text; the journal, and an export, have all of it. */
const textShown = 100_000;
/** What a call that is approved on its card may be at most, so that all of it is seen at once. */
const approvableLines = 12;
const approvableCharacters = 600;

export function rowView(row: Row, session: Session | undefined): RowView {
  return row.item.kind === "toolCall" && row.item.call !== undefined
    ? callView(row, row.item.call, session)
    : textView(row);
}

/** A piece that is added to what the page has of this row. */
export function pieceView(row: Row, piece: string): string {
  return row.item.kind === "answer" ? escapeProse(piece) : escapeText(piece);
}

/** A text alone as it is, what is not a text as JSON; both in several lines. */
export function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 2) ?? "";
}

/** Cut before it is escaped: what is not shown costs nothing. */
function shortened(text: string, limit: number, escape: (text: string) => string = escapeText): string {
  const more = text.length - limit;
  return more <= 0 ? escape(text) : `${escape(text.slice(0, limit))}… (${more} more characters)`;
}

function common({ item, draft }: Row): { id: string; turnId: string; at: string; revision?: number } {
  const revision = draft === undefined ? { revision: item.revision } : {};
  return { id: item.itemId, turnId: item.turnId, at: item.at, ...revision };
}

function textView(row: Row): TextRow {
  const { item, draft } = row;
  const text = draft?.text ?? item.text ?? (item.parts ?? []).map(partText).join("\n\n");
  const kind: TextRow["kind"] = item.kind === "toolCall" ? "note" : item.kind;
  const shown = shortened(text, textShown, (piece) => pieceView(row, piece));
  return { ...common(row), kind, text: shown, streams: draft !== undefined };
}

function partText(part: Part): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "file":
      return `[file ${part.path}]`;
    case "media":
      return `[${part.mimeType}${part.path === undefined ? "" : ` ${part.path}`}]`;
  }
}

function callView(row: Row, call: ItemCall, session: Session | undefined): CallRow {
  const effective = call.effectiveArguments ?? call.arguments;
  const whole = argumentsText(effective);
  const output = row.printed === undefined ? outputText(call.output) : row.printed.text.slice(-outputShown);
  const waits = session?.pending.find((pending) => pending.token === call.token && !isFinal(call));
  return {
    ...common(row),
    kind: "call",
    callId: call.callId,
    tool: escapeLine(call.tool),
    summary: shortened(summaryText(effective), summaryShown, escapeLine),
    arguments: shortened(whole, argumentsShown),
    ...(call.effectiveArguments !== undefined && { proposed: shortened(argumentsText(call.arguments), argumentsShown) }),
    state: escapeLine(call.state),
    ended: isFinal(call),
    decision: decisionText(call),
    output: shortened(output, outputShown),
    more: row.printed === undefined ? output.length > outputShown : row.printed.text.length > outputShown,
    streams: call.state === "running",
    progress: progressText(row.progress),
    mayHaveRun: call.mayHaveRun ?? false,
    ...(call.startedAt !== undefined && { startedAt: call.startedAt }),
    ...(call.endedAt !== undefined && { endedAt: call.endedAt }),
    ...(call.childId !== undefined && { childId: call.childId }),
    ...(waits !== undefined && waits.kind !== "running" && { waits: waitView(waits, whole, session?.drivenBy === "run") }),
  };
}

/** The only text of an object is shown as it is: for a command that is the command. */
function argumentsText(value: unknown): string {
  const only = onlyText(value);
  return only ?? valueText(value);
}

function summaryText(value: unknown): string {
  return onlyText(value) ?? (typeof value === "string" ? value : JSON.stringify(value) ?? "");
}

function onlyText(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return undefined;
  }
  const values = Object.values(value);
  return values.length === 1 && typeof values[0] === "string" ? values[0] : undefined;
}

function outputText(output: unknown): string {
  const typed = output as { type?: unknown; content?: unknown } | null | undefined;
  return typed?.type === "text" && typeof typed.content === "string" ? typed.content : valueText(output);
}

function decisionText({ decision, disposition, state, startedAt }: ItemCall): string {
  const said = decision?.message === undefined ? "" : `: ${decision.message}`;
  if (decision !== undefined) {
    const what = state === "denied" ? "denied" : startedAt === undefined && state !== "approved" ? "answered" : "approved";
    const who = decision.client === undefined ? "a remembered rule" : `${decision.by} (${decision.client.kind})`;
    return escapeLine(`${what}${decision.edited ? " with other arguments" : ""} by ${who}${said}`);
  }
  const tagged = typeof disposition === "object" ? disposition : undefined;
  const reason = tagged !== undefined && "reason" in tagged && tagged.reason !== undefined ? `: ${tagged.reason}` : "";
  return state === "denied" ? escapeLine(`denied by the policy${reason}`) : "";
}

function progressText(progress: Progress | undefined): string {
  if (progress === undefined) {
    return "";
  }
  const of = progress.total === undefined ? "" : ` of ${progress.total}`;
  const share = progress.progress === undefined ? "" : `${progress.progress}${of}`;
  return escapeLine([progress.message, share].filter((text) => text !== undefined && text !== "").join(" · "));
}

function waitView(pending: Pending, whole: string, continues: boolean): WaitView {
  const shown = whole.length <= approvableCharacters ? escapeText(whole) : whole;
  const fits = shown.length <= approvableCharacters && shown.split("\n").length <= approvableLines;
  return {
    token: pending.token,
    kind: pending.kind,
    reason: escapeLine(pending.reason),
    cwd: escapeLine(homely(pending.cwd, homedir())),
    question: escapeText(pending.question?.prompt ?? ""),
    argumentsHash: pending.argumentsHash,
    approvable: pending.kind === "approval" && pending.diff === undefined && fits,
    deniable: pending.kind === "approval" || pending.kind === "external",
    continues,
  };
}
