// In which folder a session works.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";

/** Folders of this window that are on the daemon's machine. */
export function folderPaths(): readonly string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === "file")
    .map((folder) => folder.uri.fsPath);
}

/** The folder of the active file, else the only folder, else a pick; undefined where nothing was picked. */
export async function chooseFolder(): Promise<string | undefined> {
  const active = vscode.window.activeTextEditor?.document.uri;
  const holding = active === undefined ? undefined : vscode.workspace.getWorkspaceFolder(active);
  if (holding?.uri.scheme === "file") {
    return holding.uri.fsPath;
  }
  const [only, ...more] = folderPaths();
  if (only !== undefined && more.length === 0) {
    return only;
  }
  return only === undefined ? pickAny() : pickOne();
}

/** A fresh one, of nobody else's. */
export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "abey-demo-"));
}

async function pickOne(): Promise<string | undefined> {
  const picked = await vscode.window.showWorkspaceFolderPick({ placeHolder: "The folder that the session works in" });
  return picked?.uri.fsPath;
}

async function pickAny(): Promise<string | undefined> {
  const picked = await vscode.window.showOpenDialog({
    canSelectFiles: false,
    canSelectFolders: true,
    openLabel: "Work in This Folder",
    title: "The folder that the session works in",
  });
  return picked?.[0]?.fsPath;
}
