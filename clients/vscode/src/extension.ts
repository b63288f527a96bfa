// The extension, composed. Everything it knows it asked the daemon.
//
//   extension.ts   composes what is below, in this order
//   protocol.ts    generated: types, `agents.<verb>` (what `Daemon.request` takes)
//   context.ts     what every part is given
//   core/          no `vscode`: the port to the daemon (daemon.ts), which lasts (lasting.ts) over links (link.ts);
//                  who follows a session (following.ts: in place of agents/attach); the sessions (sessions.ts);
//                  escaping of what others wrote (escape.ts); what is said to people (wording.ts)
//   daemon/        finds the program, starts it, installs it, context keys
//   views/         trees, badge, status bar, the one notification
//   commands/      `abey.<verb>`, each with an argument form
//   review/        `openReview(token)`;   panel/, webview/   `openSession(sessionId)`
import * as vscode from "vscode";
import { registerCommands } from "./commands/register";
import { createContext, type Context } from "./context";
import type { LastingDaemon } from "./core/lasting";
import { keepLanguage } from "./daemon/documents";
import { keepKeys } from "./daemon/keys";
import { createDaemon, isWanted, watchSettings } from "./daemon/start";
import { registerPanel } from "./panel/open";
import { registerReview } from "./review/open";
import { registerViews } from "./views/register";

let daemon: LastingDaemon | undefined;

/** What tests inside the extension host are given. */
export function activate(extension: vscode.ExtensionContext): Context {
  const log = vscode.window.createOutputChannel("Abey", { log: true });
  const lasting = createDaemon(log);
  daemon = lasting;
  const context = createContext(extension, lasting, log);
  context.register(log, keepKeys(lasting), keepLanguage(), watchSettings(lasting));
  registerViews(context);
  registerCommands(context, lasting);
  registerReview(context);
  registerPanel(context);
  if (isWanted()) {
    // What fails is in the state of the daemon, and so on the status bar
    lasting.connect().catch(() => undefined);
  }
  return context;
}

export async function deactivate(): Promise<void> {
  await daemon?.dispose();
}
