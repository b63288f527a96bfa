// What a call has printed, as a document: read when it is opened, also after a reload, and nothing in it acts.
import * as vscode from "vscode";
import type { Context } from "../context";
import { escapeText } from "../core/escape";
import { readOutput } from "../core/output";

const scheme = "abey-output";

export function registerOutputs({ daemon, register }: Context): void {
  register(
    vscode.workspace.registerTextDocumentContentProvider(scheme, {
      async provideTextDocumentContent({ path, query }) {
        return escapeText(await readOutput(daemon, query, path.slice(1, -".txt".length)));
      },
    }),
  );
}

export async function openOutput(sessionId: string, callId: string): Promise<void> {
  const uri = vscode.Uri.from({ scheme, path: `/${callId}.txt`, query: sessionId });
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
}
