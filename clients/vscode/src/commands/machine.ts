// The daemon itself: install, restart, doctor, log.
import * as vscode from "vscode";
import type { Context } from "../context";
import { doctorText } from "../core/doctor";
import type { LastingDaemon } from "../core/lasting";
import { installDaemon, reopenInWsl } from "../daemon/install";
import { agents } from "../protocol";
import type { Pages } from "./pages";

export const walkthrough = "abey.abey#abey.start";

export function registerMachine(context: Context, daemon: LastingDaemon, pages: Pages): void {
  context.command("abey.install", (given) => installDaemon(context, daemon, given));
  context.command("abey.wsl", reopenInWsl);
  context.command("abey.restartDaemon", () => restart(daemon));
  context.command("abey.doctor", () => doctor(context, pages));
  context.command("abey.log", () => context.log.show());
  context.command("abey.walkthrough", () =>
    vscode.commands.executeCommand("workbench.action.openWalkthrough", walkthrough),
  );
}

/** What runs has ten seconds to end; the next request, or the end of the connection, starts another daemon. */
async function restart(daemon: LastingDaemon): Promise<void> {
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: "Abey: restarting" },
    async () => {
      if (daemon.state.kind === "connected") {
        await daemon.request(agents.shutdown, { mode: "drain" });
        await daemon.ended();
      }
      await daemon.connect();
    },
  );
  vscode.window.setStatusBarMessage("Abey: the daemon was restarted", 5000);
}

async function doctor(context: Context, pages: Pages): Promise<unknown> {
  const result = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: "Abey: looking" },
    () => context.daemon.request(agents.doctor, {}),
  );
  await pages.show("Doctor", doctorText(result));
  return result;
}
