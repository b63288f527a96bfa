// The tabs in which calls are looked at.
import * as vscode from "vscode";
import { subjectOf, type Subject } from "./proposals";

export const pageType = "abey.review";

/** The document that a tab shows; of a diff its right side. */
export function uriIn(tab: vscode.Tab | undefined): vscode.Uri | undefined {
  const input = tab?.input;
  return input instanceof vscode.TabInputTextDiff ? input.modified : input instanceof vscode.TabInputText ? input.uri : undefined;
}

/** What a review shows there: of arguments that are edited what was proposed, on the left. */
export function subjectIn(tab: vscode.Tab): Subject | undefined {
  const input = tab.input;
  const uris = input instanceof vscode.TabInputTextDiff ? [input.modified, input.original] : [];
  return uris.map(subjectOf).find((subject) => subject !== undefined);
}

/** The tabs that show a change or the arguments of this call. */
export function tabsOf(token: string, documents: readonly vscode.Uri[]): readonly vscode.Tab[] {
  const named = new Set(documents.map(String));
  return allTabs().filter((tab) => {
    return subjectIn(tab)?.token === token || named.has(String(uriIn(tab)));
  });
}

/** What was typed and not saved stays where it is. */
export async function close(tabs: readonly vscode.Tab[]): Promise<void> {
  const clean = tabs.filter((tab) => !tab.isDirty);
  if (clean.length > 0) {
    await vscode.window.tabGroups.close(clean, true);
  }
}

export function allTabs(): readonly vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs);
}
