// A pending call as one row, and whether the row shows all of it.
import type { Pending, Session } from "../protocol";
import { escapeLine } from "./escape";

/** What the side bar, as wide as it is at first, shows of a row beside its icon and three buttons. */
const rowFits = 24;

export interface CallRow {
  readonly label: string;
  /** The whole escaped call stands in the label: only then a row may approve it. */
  readonly whole: boolean;
  readonly call: Pending;
  /** Whether an approval drives the session on by default: it was driven by Run, Resume or Send. */
  readonly resumes: boolean;
}

export function callRow(call: Pending, session: Session | undefined): CallRow {
  const label = changeText(call) ?? callText(call);
  // Wider characters, and those that look like others, are looked at in the review
  const whole =
    call.kind === "approval" && /^[\x20-\x7e]*$/.test(label) && label.length <= rowFits && call.diff === undefined;
  return { label, whole, call, resumes: session?.drivenBy === "run" };
}

/** The call in one line, escaped and whole: `tool: value` where the value is all there can be, else with its JSON. */
export function callText(call: Pending): string {
  if (call.question !== undefined) {
    return escapeLine(`${call.tool} asks: ${call.question.prompt}`);
  }
  const value = onlyValue(call);
  return escapeLine(value === undefined ? `${call.tool} ${JSON.stringify(call.arguments)}` : `${call.tool}: ${value}`);
}

/** A change of a file by the file: what it is to become is for the review. */
function changeText({ tool, diff, arguments: given }: Pending): string | undefined {
  const { path } = (given ?? {}) as { readonly path?: unknown };
  return diff !== undefined && typeof path === "string" ? escapeLine(`${tool}: ${path}`) : undefined;
}

/** What a row can do, as words of its `contextValue`. */
export function callWords({ call, whole, resumes }: CallRow): string {
  const kind = ["approval", "question", "external", "uncertain"].includes(call.kind) ? call.kind : "other";
  return [
    "call",
    kind,
    ...(whole ? ["whole"] : []),
    resumes ? "run" : "step",
    ...(call.editable ? ["editable"] : []),
    ...(kind === "approval" || kind === "external" ? ["deniable"] : []),
  ].join(" ");
}

/** The one text that was given, of the one argument that has to be: where it does not hide where it begins and ends. */
function onlyValue({ arguments: given, argumentsSchema }: Pending): string | undefined {
  const required = argumentsSchema?.["required"];
  if (typeof given !== "object" || given === null || !Array.isArray(required) || required.length !== 1) {
    return undefined;
  }
  const [[name, value] = [], more] = Object.entries(given);
  const plain = typeof value === "string" && value !== "" && value.trim() === value;
  return plain && more === undefined && required[0] === name ? value : undefined;
}
