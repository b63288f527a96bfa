// What stands in the editors of a review, read-only: both sides of a change, and the arguments that were proposed.
import * as vscode from "vscode";
import { join } from "node:path";
import type { Context } from "../context";
import { pendingCall } from "../core/calls";
import { escapeLine, escapeText } from "../core/escape";
import { apply, partsOf, readPatch, type Patch, type Sides } from "../core/patch";
import { jsonSpelled } from "../core/review";
import type { Pending } from "../protocol";

type Part = "before" | "after" | "arguments";

/** What a document of the scheme `abey-review` is about: a part of a call, as it was under that hash. */
export interface Subject {
  readonly token: string;
  readonly part: Part;
  readonly argumentsHash: string;
}

/** A file system, since only its editors are there again when a window is loaded again. */
export class Proposals implements vscode.FileSystemProvider {
  static readonly scheme = "abey-review";
  // What a hash stands for does not change
  readonly onDidChangeFile = new vscode.EventEmitter<vscode.FileChangeEvent[]>().event;

  constructor(private readonly context: Context) {}

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { length } = await this.readFile(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime: 0, size: length };
  }

  /** Of a call that waits no more, or is another by now, there is nothing to be read. */
  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const subject = subjectOf(uri);
    const pending = subject && (await pendingCall(this.context.daemon, subject.token));
    if (subject === undefined || pending === undefined || pending.argumentsHash !== subject.argumentsHash) {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    return new TextEncoder().encode(await this.text(pending, subject.part));
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  readDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.FileNotADirectory(uri);
  }

  createDirectory(): never {
    return refused();
  }

  writeFile(): never {
    return refused();
  }

  delete(): never {
    return refused();
  }

  rename(): never {
    return refused();
  }

  /** Undefined for a call that is no write to a file, or whose change is told in words alone. */
  async sides(pending: Pending): Promise<Sides | undefined> {
    const patch = pending.kind === "approval" && pending.diff !== undefined ? readPatch(pending.diff) : undefined;
    if (patch === undefined) {
      return undefined;
    }
    const whole = patch.created ? "" : await this.file(pending.cwd, patch);
    const after = whole === undefined ? undefined : apply(patch, whole);
    const sides = whole === undefined || after === undefined ? partsOf(patch) : { before: whole, after };
    return shown(sides);
  }

  private async text(pending: Pending, part: Part): Promise<string> {
    return part === "arguments" ? `${jsonSpelled(pending.arguments)}\n` : ((await this.sides(pending))?.[part] ?? "");
  }

  /** The file as it is; nothing of a workspace that is not trusted is read. */
  private async file(cwd: string, patch: Patch): Promise<string | undefined> {
    if (!vscode.workspace.isTrusted) {
      return undefined;
    }
    try {
      const bytes = await vscode.workspace.fs.readFile(vscode.Uri.file(join(cwd, patch.path)));
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (problem) {
      this.context.log.debug(`of the change to ${escapeLine(patch.path)} only its parts are shown: ${String(problem)}`);
      return undefined;
    }
  }
}

function refused(): never {
  throw vscode.FileSystemError.NoPermissions("a review is only read");
}

export function uriOf(pending: Pending, part: Part): vscode.Uri {
  const name = part === "arguments" ? "arguments.json" : (readPatch(pending.diff ?? "")?.path ?? "change");
  const { token, argumentsHash } = pending;
  return vscode.Uri.from({
    scheme: Proposals.scheme,
    path: `/${escapeLine(name)}`,
    query: new URLSearchParams({ token, part, argumentsHash }).toString(),
  });
}

export function subjectOf(uri: vscode.Uri): Subject | undefined {
  const query = new URLSearchParams(uri.query);
  const [token, part, argumentsHash] = ["token", "part", "argumentsHash"].map((name) => query.get(name));
  const known = part === "before" || part === "after" || part === "arguments";
  return uri.scheme === Proposals.scheme && token && known && argumentsHash ? { token, part, argumentsHash } : undefined;
}

/** An editor leaves a carriage return out of sight: where only some lines end with one, it is spelled out. */
function shown({ before, after }: Sides): Sides {
  const alike = [before, after].every((text) => !/(^|[^\r])\n/.test(text));
  const plain = (text: string): string => escapeText(alike ? text.replaceAll("\r\n", "\n") : text);
  return { before: plain(before), after: plain(after) };
}
