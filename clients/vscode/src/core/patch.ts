// Unified diffs, as the daemon shows what a call would change in a file.

interface Line {
  readonly mark: " " | "-" | "+";
  /** With its newline, where it has one. */
  readonly text: string;
}

interface Hunk {
  readonly head: string;
  /** Counted from 0. */
  readonly start: number;
  readonly lines: readonly Line[];
}

export interface Patch {
  /** Relative to the folder of the session. */
  readonly path: string;
  readonly created: boolean;
  readonly hunks: readonly Hunk[];
}

/** What stands on both sides of a change. */
export interface Sides {
  readonly before: string;
  readonly after: string;
}

const span = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const noNewline = "\\ No newline at end of file\n";

/** Undefined for what is no patch, or not a whole one: cut, or a description in its place. */
export function readPatch(text: string): Patch | undefined {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const before = /^--- (.*)\n$/.exec(lines[0] ?? "")?.[1];
  const after = /^\+\+\+ (.*)\n$/.exec(lines[1] ?? "")?.[1];
  const path = after === undefined ? undefined : pathIn(after);
  if (before === undefined || path === undefined) {
    return undefined;
  }
  const hunks = readHunks(lines.slice(2));
  return hunks === undefined ? undefined : { path, created: before === "/dev/null", hunks };
}

/** What `text` becomes; undefined where it is not what the patch was made of. */
export function apply(patch: Patch, text: string): string | undefined {
  const old = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const made: string[] = [];
  let at = 0;
  for (const hunk of patch.hunks) {
    if (hunk.start < at || hunk.start > old.length) {
      return undefined;
    }
    made.push(...old.slice(at, hunk.start));
    at = hunk.start;
    for (const { mark, text: line } of hunk.lines) {
      if (mark !== "+" && old[at] !== line) {
        return undefined;
      }
      at += mark === "+" ? 0 : 1;
      if (mark !== "-") {
        made.push(line);
      }
    }
  }
  return [...made, ...old.slice(at)].join("");
}

/** The parts that change, with the lines around them, where the file itself is not at hand. */
export function partsOf(patch: Patch): Sides {
  const side = (left: "-" | "+"): string =>
    patch.hunks
      .map((hunk) => {
        const lines = hunk.lines.filter(({ mark }) => mark === " " || mark === left).map(({ text }) => text);
        return patch.hunks.length === 1 ? lines.join("") : `${hunk.head}${lines.join("")}`;
      })
      .join("\n");
  return { before: side("-"), after: side("+") };
}

function readHunks(lines: readonly string[]): readonly Hunk[] | undefined {
  const hunks: Hunk[] = [];
  let at = 0;
  while (at < lines.length) {
    const head = lines[at] ?? "";
    const found = span.exec(head);
    if (found === null) {
      return undefined;
    }
    const counted = (group: number): number => Number(found[group] ?? 1);
    const [olds, news] = [counted(2), counted(4)];
    const body = readLines(lines, at + 1, olds, news);
    if (body === undefined) {
      return undefined;
    }
    // Of nothing it says the line before
    hunks.push({ head, start: olds === 0 ? Number(found[1]) : Number(found[1]) - 1, lines: body.lines });
    at = body.end;
  }
  return hunks;
}

function readLines(
  lines: readonly string[],
  start: number,
  olds: number,
  news: number,
): { readonly lines: readonly Line[]; readonly end: number } | undefined {
  const found: Line[] = [];
  let at = start;
  let [old, fresh] = [olds, news];
  while (old > 0 || fresh > 0) {
    const line = lines[at];
    const mark = line?.[0];
    if (line === undefined || (mark !== " " && mark !== "-" && mark !== "+")) {
      return undefined;
    }
    const ends = lines[at + 1] !== noNewline;
    found.push({ mark, text: ends ? line.slice(1) : line.slice(1, -1) });
    old -= mark === "+" ? 0 : 1;
    fresh -= mark === "-" ? 0 : 1;
    at += ends ? 1 : 2;
  }
  return old === 0 && fresh === 0 ? { lines: found, end: at } : undefined;
}

function pathIn(name: string): string | undefined {
  try {
    const plain: unknown = name.startsWith('"') ? JSON.parse(name) : name;
    return typeof plain === "string" && plain.startsWith("b/") ? plain.slice(2) : undefined;
  } catch {
    return undefined;
  }
}
