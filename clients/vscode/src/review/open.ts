// The review of a call, as the rest of the extension opens it.
import * as vscode from "vscode";
import type { Context } from "../context";
import { registerTitles } from "./titles";
import { Proposals } from "./proposals";
import { Reviews } from "./reviews";

const open = "abey.openReview";
const edit = "abey.openArguments";

export function registerReview(context: Context): void {
  const proposals = new Proposals(context);
  const reviews = new Reviews(context, proposals);
  context.register(reviews, vscode.workspace.registerFileSystemProvider(Proposals.scheme, proposals, { isReadonly: true, isCaseSensitive: true }));
  context.command(open, (token) => reviews.open(String(token)));
  context.command(edit, (token) => reviews.edit(String(token)));
  registerTitles(context, reviews);
}

/** In a tab: of a write to a file its diff, of any other call a page. Says who answered a call that waits no more. */
export async function openReview(token: string): Promise<void> {
  await vscode.commands.executeCommand(open, token);
}

/** The arguments, beside those that were proposed. */
export async function editArguments(token: string): Promise<void> {
  await vscode.commands.executeCommand(edit, token);
}
