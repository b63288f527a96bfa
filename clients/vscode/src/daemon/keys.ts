// Context keys: a command whose method the handshake does not list is hidden.
import * as vscode from "vscode";
import type { DaemonState } from "../core/daemon";
import { approves } from "../core/deciding";
import type { LastingDaemon } from "../core/lasting";
import { agents } from "../protocol";
import { located } from "./start";

/**
 * `abey.has.<verb>` for each method, `abey.daemon` for the state, `abey.found` where there is a program. Before the
 * handshake every method may be there. `abey.approved` once a call was approved here: the end of the walkthrough.
 */
export function keepKeys(daemon: LastingDaemon): vscode.Disposable {
  const tell = (state: DaemonState): void => {
    const known = state.kind === "connected";
    const found = known || "path" in located();
    set("abey.found", found);
    set("abey.daemon", found ? state.kind : "missing");
    for (const [verb, method] of Object.entries(agents)) {
      set(`abey.has.${verb}`, !known || daemon.methods.has(method.name));
    }
  };
  set("abey.windows", process.platform === "win32");
  tell(daemon.state);
  const approved = daemon.onDone((asked) => approves(asked) && set("abey.approved", true));
  return vscode.Disposable.from(daemon.onState(tell), approved);
}

function set(key: string, value: unknown): void {
  void vscode.commands.executeCommand("setContext", key, value);
}
