// Where the extension runs: on the machine of the workspace, which on Windows is WSL.
import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { Case } from "./commands";

/** For as long as something is tried. */
async function instead<T extends object, K extends keyof T>(holder: T, key: K, value: T[K], run: () => Promise<void>): Promise<void> {
  const before = Object.getOwnPropertyDescriptor(holder, key);
  assert.ok(before);
  Object.defineProperty(holder, key, { ...before, value });
  try {
    await run();
  } finally {
    Object.defineProperty(holder, key, before);
  }
}

export const places: readonly Case[] = [
  [
    "it runs on the machine of the workspace, not in the browser that shows it",
    () => {
      assert.equal(vscode.extensions.getExtension("abey.abey")?.extensionKind, vscode.ExtensionKind.Workspace);
      assert.equal(vscode.env.uiKind, vscode.UIKind.Web);
      assert.equal(vscode.workspace.workspaceFolders?.[0]?.uri.scheme, "file");
      return Promise.resolve();
    },
  ],
  [
    "on Windows it offers to reopen the window in WSL, and installs nothing",
    async () => {
      const asked: unknown[] = [];
      let reopened = 0;
      const wsl = vscode.commands.registerCommand("remote-wsl.reopenInWSL", () => (reopened += 1));
      const answer = (text: string, ...buttons: readonly unknown[]): Promise<unknown> => {
        asked.push([text, ...buttons]);
        return Promise.resolve(buttons[0]);
      };
      const terminals = vscode.window.terminals.length;
      await instead(process, "platform", "win32", () =>
        instead(vscode.window, "showInformationMessage", answer as typeof vscode.window.showInformationMessage, async () => {
          await vscode.commands.executeCommand("abey.install");
          await vscode.commands.executeCommand("abey.wsl");
        }),
      );
      wsl.dispose();
      const offer = ["Abey: on Windows the daemon runs in WSL", "Reopen in WSL"];
      assert.deepEqual([asked, reopened, vscode.window.terminals.length], [[offer, offer], 2, terminals]);
    },
  ],
];
