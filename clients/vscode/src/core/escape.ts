// Makes hostile text harmless where it is shown (docs/security.md, Prompt text): the same as the daemon's escaping.py.

/** A longer run of blanks is shown as a count, so that nothing can be pushed out of sight. */
const spacesShown = 32;

const controls = "\\x00-\\x1f\\x7f-\\x9f";
const invisible =
  "\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164" +
  "\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff" +
  "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
const inLine = new RegExp(`[${controls}${invisible}]`, "gu");
const inText = new RegExp(`(?![\\t\\n])[${controls}${invisible}]`, "gu");
const blanks = new RegExp(`[ \\t\\xa0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u2800\\u3000]{${spacesShown + 1},}`, "gu");

/** For a place of several lines: tabs and newlines stay. */
export function escapeText(text: string): string {
  return text.replace(inText, spelled).replace(blanks, counted);
}

/** For a place of one line: tabs and newlines are spelled out, too. */
export function escapeLine(text: string): string {
  return text.replace(inLine, spelled).replace(blanks, counted);
}

/** The first `limit` characters, saying how many more there are. */
export function cut(text: string, limit: number): string {
  const characters = [...text];
  const more = characters.length - limit;
  return more <= 0 ? text : `${characters.slice(0, limit).join("")}… (${more} more characters)`;
}

function spelled(character: string): string {
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
  const code = character.codePointAt(0) ?? 0;
  const hex = (digits: number): string => code.toString(16).padStart(digits, "0");
  return short ?? (code < 0x100 ? `\\x${hex(2)}` : code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`);
}

function counted(run: string): string {
  return `[${run.length} spaces]`;
}

const messageLimit = 1000;

/** For VS Code's notifications, which make links, of commands too, of `[text](target)`. */
export function escapeMessage(text: string): string {
  return cut(escapeLine(text), messageLimit).replaceAll("](", "] (");
}

/** For labels in which VS Code makes pictures of `$(name)`: Quick Pick, lenses, status bar. */
export function escapeLabel(text: string): string {
  return escapeLine(text).replaceAll("$(", "$ (");
}

export interface Piece {
  readonly text: string;
  /** It stands for what could act or hide, and was spelled out. */
  readonly spelled: boolean;
}

/** As `escapeText`, in pieces, so that what was spelled out cannot be taken for what was written so. */
export function pieces(text: string): readonly Piece[] {
  const odd = new RegExp(`${blanks.source}|${inText.source}`, "gu");
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(odd)) {
    found.push({ text: text.slice(at, match.index), spelled: false });
    found.push({ text: escapeText(match[0]), spelled: true });
    at = match.index + match[0].length;
  }
  return [...found, { text: text.slice(at), spelled: false }].filter((piece) => piece.text !== "");
}
