// The documents of arguments, which the daemon writes and reads: each beside the arguments that were proposed.
import * as vscode from "vscode";
import type { Context } from "../context";
import { numberOf, waitingAt } from "../core/calls";
import { AbeyError } from "../core/daemon";
import { cut, escapeLine } from "../core/escape";
import type { CompleteResult, Pending } from "../protocol";
import { subjectOf, uriOf } from "./proposals";

const name = /(?:^|\/)([0-9a-z][0-9a-z_-]{0,63})\.([1-9][0-9]{0,8})\.args\.json$/;

export class Argued {
  /** By the token of the call. */
  private readonly documents = new Map<string, vscode.Uri>();

  constructor(private readonly context: Context) {}

  documentsOf(token: string): readonly vscode.Uri[] {
    const found = this.documents.get(token);
    return found === undefined ? [] : [found];
  }

  async open(pending: Pending): Promise<void> {
    const { daemon } = this.context;
    const { sessionId, tool, token } = pending;
    const call = await numberOf(daemon, pending);
    if (call === undefined) {
      throw new AbeyError(0, "state/invalid", "this call is not in its session any more");
    }
    const { uri } = (await daemon.execute("abey.open", { sessionId, call })) as { readonly uri: string };
    const document = vscode.Uri.parse(uri, true);
    this.documents.set(token, document);
    const title = `${cut(escapeLine(tool), 40)} (arguments)`;
    await vscode.commands.executeCommand("vscode.diff", uriOf(pending, "arguments"), document, title, { preview: false });
  }

  /** The call whose arguments stand in this document, while it waits. */
  async callOf(document: vscode.Uri): Promise<Pending | undefined> {
    const [, sessionId, n] = name.exec(document.path) ?? [];
    return sessionId === undefined ? undefined : waitingAt(this.context.daemon, sessionId, Number(n));
  }

  /** Approves what is written there. The daemon reads it, so that every digit counts as it stands. */
  async approve(document: vscode.Uri, resume: boolean): Promise<CompleteResult | undefined> {
    // Saved, it closes without a question; saving runs nothing
    await (await vscode.workspace.openTextDocument(document)).save();
    const answer = await this.context.daemon.execute("abey.complete", { document: String(document), decision: "approve", resume });
    return "applied" in (answer as object) ? (answer as CompleteResult) : undefined;
  }
}

export function isArguments(uri: vscode.Uri | undefined): uri is vscode.Uri {
  return uri?.scheme === "file" && name.test(uri.path);
}

/** Whether what was proposed stands beside it. */
export function isCompared(tab: vscode.Tab | undefined): boolean {
  const input = tab?.input;
  return input instanceof vscode.TabInputTextDiff && subjectOf(input.original)?.part === "arguments";
}
