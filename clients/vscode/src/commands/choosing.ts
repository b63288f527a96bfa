// Picks, where a command was given nothing.
import * as vscode from "vscode";
import type { Context } from "../context";
import { escapeLabel } from "../core/escape";
import { age, stateText } from "../core/wording";
import type { Session } from "../protocol";
import { sessionIdOf } from "../core/given";
import { shownSession } from "../panel/open";

/** The session that was given, else the one in front, else a pick of those that fit; undefined: nothing was picked. */
export async function chooseSession(
  context: Context,
  given: unknown,
  placeHolder: string,
  fits: (session: Session) => boolean = () => true,
): Promise<string | undefined> {
  const known = sessionIdOf(given) ?? shownSession();
  if (known !== undefined) {
    return known;
  }
  await ready(context);
  const sessions = context.sessions.all().filter(fits);
  if (sessions.length === 0) {
    void vscode.window.showInformationMessage("Abey: there is no such session");
    return undefined;
  }
  return (await vscode.window.showQuickPick(sessions.map(sessionPick), { placeHolder, matchOnDescription: true }))
    ?.sessionId;
}

export function sessionPick(session: Session): vscode.QuickPickItem & { readonly sessionId: string } {
  return {
    label: escapeLabel(session.title),
    description: [stateText(session), session.agent, age(session.updatedAt, Date.now())].map(escapeLabel).join(" · "),
    sessionId: session.sessionId,
  };
}

/** Connected, and everything read. */
export async function ready(context: Context): Promise<void> {
  if (context.daemon.state.kind !== "connected" || context.sessions.all().length === 0) {
    await context.sessions.load();
  }
}
