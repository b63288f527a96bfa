// The daemon of this window: found, started, and connected when somebody needs it or it has something to say.
import { homedir } from "node:os";
import * as vscode from "vscode";
import { AbeyError } from "../core/daemon";
import { LastingDaemon } from "../core/lasting";
import { isUsed, locate, stateDir, type Located } from "../core/locate";
import { connect } from "./language";

export function createDaemon(log: vscode.LogOutputChannel): LastingDaemon {
  const clientId = `vscode-${vscode.env.sessionId
    .toLowerCase()
    .replace(/[^0-9a-z]/g, "")
    .slice(0, 32)}`;
  return new LastingDaemon(
    async (told) => {
      const found = located();
      if ("missing" in found) {
        throw new AbeyError(0, "daemon/missing", found.missing);
      }
      log.info(`daemon: ${found.path}`);
      return connect({ program: found.path, log, clientId }, told);
    },
    (text) => log.info(text),
  );
}

export function located(): Located {
  return locate({
    env: process.env,
    home: homedir(),
    configured: vscode.workspace.getConfiguration("abey").get<string>("daemonPath", ""),
    folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
  });
}

/** Whether there is anything to connect for before a command needs it. */
export function isWanted(): boolean {
  return isUsed(stateDir(process.env, homedir()));
}

/** What is said in the handshake alone is said again by a new one. */
export function watchSettings(daemon: LastingDaemon): vscode.Disposable {
  const again = (): void => {
    if (daemon.state.kind !== "idle") {
      // What fails here is in the state, and so on the status bar
      daemon.reconnect().catch(() => undefined);
    }
  };
  return vscode.Disposable.from(
    vscode.workspace.onDidGrantWorkspaceTrust(again),
    vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("abey.daemonPath") && again()),
  );
}
