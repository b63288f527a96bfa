// A call as somebody sees it who has to decide: what is shown, and what can be done. The page only draws it.
import type { AskedRule, Outcome, Pending, Rule, Session } from "../protocol";
import { cut, escapeLine, pieces, type Piece } from "./escape";
import { homely } from "./home";
import { fieldsOf, type Field } from "./form";

/** A text of others, whole. */
export interface Block {
  readonly label: string;
  readonly pieces: readonly Piece[];
}

/** So many characters, the last ones, come with a call. */
const outputTold = 4096;

export interface Fact {
  readonly label: string;
  readonly text: string;
}

export interface Suggestion {
  readonly label: string;
  readonly rule: string;
}

export interface Review {
  readonly kind: Pending["kind"];
  readonly token: string;
  readonly sessionId: string;
  /** Of the call as it is shown here. */
  readonly argumentsHash: string;
  readonly heading: string;
  readonly tool: string;
  readonly facts: readonly Fact[];
  /** The first one has the focus. */
  readonly blocks: readonly Block[];
  readonly warnings: readonly string[];
  readonly question?: { readonly kind: "approval" | "response"; readonly fields: readonly Field[] };
  readonly editable: boolean;
  /** It has printed more than is shown. */
  readonly moreOutput: boolean;
  /** The rules of *Always*, narrowest first. */
  readonly suggestions: readonly Suggestion[];
  /** A run drove the session last: then an answer lets it go on. */
  readonly continues: boolean;
}

/** What somebody decided on a page, in answer to the call that it showed. */
export interface Decided {
  readonly argumentsHash: string;
  readonly outcome: Outcome;
  readonly resume: boolean;
  readonly rule?: AskedRule;
}

/** To the page. `say` is what came of a decision that did not count. */
export type Shown =
  | { readonly type: "show"; readonly review: Review; readonly said?: string }
  | { readonly type: "say"; readonly text: string };

/** From the page. */
export type Done =
  | { readonly type: "ready" }
  | { readonly type: "decide"; readonly decided: Decided }
  | { readonly type: "edit" }
  | { readonly type: "output" };

/** `home`: of the user, where their folders are to be short. */
export function reviewOf(pending: Pending, session: Session | undefined, home?: string): Review {
  const blocks = [...questionBlock(pending), ...argumentsOf(pending), ...more(pending)];
  return {
    kind: pending.kind,
    token: pending.token,
    sessionId: pending.sessionId,
    argumentsHash: pending.argumentsHash,
    heading: headings[pending.kind],
    tool: escapeLine(pending.tool),
    facts: factsOf(pending, session, home),
    blocks,
    warnings: warningsOf(pending, blocks),
    ...(pending.kind === "question" && pending.question !== undefined
      ? { question: { kind: pending.question.kind, fields: fieldsOf(pending.question.schema) } }
      : {}),
    editable: pending.kind === "approval" && pending.editable,
    moreOutput: [...(pending.outputSoFar ?? "")].length >= outputTold,
    suggestions: pending.kind === "approval" ? pending.suggestions.map((rule) => suggestionOf(rule, home)) : [],
    continues: session?.drivenBy === "run",
  };
}

export function tabTitle(pending: Pending): string {
  const [first] = [...questionBlock(pending), ...argumentsOf(pending)];
  const what = first === undefined ? "" : ` ${escapeLine(first.pieces.map(({ text }) => text).join(""))}`;
  return cut(`${escapeLine(pending.tool)}${what}`, 40).replace(/ \(\d+ more characters\)$/, "");
}

const headings: Readonly<Record<Pending["kind"], string>> = {
  approval: "May this run?",
  external: "Somebody else has to do this",
  question: "A question for you",
  uncertain: "This may have run already",
  running: "This runs now",
};

function factsOf(pending: Pending, session: Session | undefined, home: string | undefined): readonly Fact[] {
  const { cwd, reason, expiresAt, startedAt } = pending;
  return [
    { label: "Folder", text: folderText(cwd, home) },
    { label: "Why it waits", text: escapeLine(reason) },
    ...(session === undefined
      ? []
      : [{ label: "Session", text: `${cut(escapeLine(session.title), 120)} (${escapeLine(session.agent)})` }]),
    ...(startedAt === undefined ? [] : [{ label: "Started", text: moment(startedAt) }]),
    ...(expiresAt === undefined ? [] : [{ label: "Ends unanswered", text: moment(expiresAt) }]),
  ];
}

/** A text as it is, anything else as JSON, each under its name; nothing is cut. */
export function argumentBlocks(given: unknown): readonly Block[] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return [{ label: "arguments", pieces: pieces(typeof given === "string" ? given : json(given)) }];
  }
  const members = Object.entries(given);
  return members.length === 0
    ? [{ label: "arguments", pieces: pieces("{}") }]
    : members.map(([name, value]) => ({
        label: typeof value === "string" ? escapeLine(name) : `${escapeLine(name)} (JSON)`,
        pieces: pieces(typeof value === "string" ? value : json(value)),
      }));
}

/** To the second; where the reader is, no core knows. */
function moment(at: string): string {
  return escapeLine(at).replace("T", " ").replace(/\.\d+Z$|Z$/, " UTC");
}

/** A question about nothing has none. */
function argumentsOf({ kind, arguments: given }: Pending): readonly Block[] {
  const none = kind === "question" && typeof given === "object" && given !== null && Object.keys(given).length === 0;
  return none ? [] : argumentBlocks(given);
}

function questionBlock({ kind, question }: Pending): readonly Block[] {
  return kind === "question" && question !== undefined
    ? [{ label: "It asks", pieces: pieces(question.prompt) }]
    : [];
}

function more({ diff, outputSoFar }: Pending): readonly Block[] {
  return [
    ...(diff === undefined ? [] : [{ label: "What it would change", pieces: pieces(diff) }]),
    ...(outputSoFar === undefined ? [] : [{ label: "The end of what it has printed", pieces: pieces(outputSoFar) }]),
  ];
}

function warningsOf(pending: Pending, blocks: readonly Block[]): readonly string[] {
  const spelled = blocks.flatMap((block) => block.pieces).filter((piece) => piece.spelled).length;
  return [
    ...(spelled > 0
      ? [`Characters that could hide or act are spelled out and marked, in ${spelled} ${spelled === 1 ? "place" : "places"}.`]
      : []),
    ...(inexact(pending.arguments)
      ? ["There are numbers here that may be rounded as they are shown. Edit shows them as they were written."]
      : []),
  ];
}

/** Whether a number was perhaps written otherwise: `1.0`, or one of more digits than are kept here. */
function inexact(value: unknown): boolean {
  if (typeof value === "number") {
    return !Number.isSafeInteger(value);
  }
  return typeof value === "object" && value !== null && Object.values(value).some(inexact);
}

function folderText(path: string, home: string | undefined): string {
  return escapeLine(home === undefined ? path : homely(path, home));
}

function suggestionOf(rule: Rule, home: string | undefined): Suggestion {
  const { tool, match, disposition, scope, workspace } = rule;
  const where = {
    session: "In this session",
    workspace: `In the workspace ${folderText(workspace ?? "", home)}`,
    user: "In all your sessions",
  }[scope];
  const asked: AskedRule = {
    tool,
    ...(match === undefined ? {} : { match }),
    disposition: disposition as AskedRule["disposition"],
    scope,
    ...(workspace === undefined ? {} : { workspace }),
  };
  return { label: `${where}: ${cut(matchText(match), 300)}`, rule: jsonSpelled(asked) };
}

function matchText(match: Rule["match"]): string {
  const { "": all, ...members } = match ?? {};
  // All of them, exactly: what a pointer says besides is said again
  const named = all === undefined ? members : typeof all === "object" && all !== null ? pointed(all) : { "": all };
  const parts = Object.entries(named).map(([pointer, wanted]) => {
    const name = escapeLine(pointer === "" ? "the arguments" : pointer.slice(1));
    const glob = typeof wanted === "object" && wanted !== null ? (wanted as { readonly glob?: unknown }).glob : undefined;
    const exactly = typeof wanted === "string" ? wanted : JSON.stringify(wanted);
    return typeof glob === "string" ? `${name} like ${escapeLine(glob)}` : `${name} exactly ${escapeLine(exactly)}`;
  });
  const none = all === undefined ? "whatever its arguments" : "without arguments";
  return parts.length === 0 ? none : `${parts.join(", ")}${all === undefined ? "" : ", and nothing else"}`;
}

function pointed(value: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [`/${name}`, member as unknown]));
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** JSON in which what could hide is spelled as JSON spells it: the same value, and every character of it seen. */
export function jsonSpelled(value: unknown): string {
  return json(value).replace(/[^\n\x20-\x7e]/gu, (one) => (escapeLine(one) === one ? one : units(one)));
}

function units(text: string): string {
  return Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
}
