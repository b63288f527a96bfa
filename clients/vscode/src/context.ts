// What every part of the extension is given.
import * as vscode from "vscode";
import { AbeyError, type Daemon } from "./core/daemon";
import { escapeMessage } from "./core/escape";
import { Followings } from "./core/following";
import { Sessions } from "./core/sessions";
import { errorText } from "./core/wording";

export interface Context {
  readonly extension: vscode.ExtensionContext;
  readonly daemon: Daemon;
  readonly followings: Followings;
  /** All sessions and the calls that wait in them, always up to date. */
  readonly sessions: Sessions;
  readonly log: vscode.LogOutputChannel;
  /** Registers `abey.<verb>`: what goes wrong is said once, in words; the result is undefined then. */
  command(id: string, run: (...given: readonly unknown[]) => unknown): void;
  /** Disposed of when the extension ends. */
  register(...disposables: readonly vscode.Disposable[]): void;
  /** Says what went wrong where nobody waits for it. */
  failed(problem: unknown): void;
}

export function createContext(
  extension: vscode.ExtensionContext,
  daemon: Daemon,
  log: vscode.LogOutputChannel,
): Context {
  const register = (...disposables: readonly vscode.Disposable[]): void =>
    void extension.subscriptions.push(...disposables);
  const failed = (problem: unknown): void => {
    log.error(problem instanceof Error ? (problem.stack ?? problem.message) : String(problem));
    void sayFailure(problem);
  };
  const quietly = (problem: unknown): void => log.warn(errorText(problem));
  const sessions = new Sessions(daemon, quietly);
  const followings = new Followings(daemon);
  register(sessions, followings);
  const ofRows = rowCommands(extension.extension.packageJSON as Manifest);
  const command = (id: string, run: (...given: readonly unknown[]) => unknown): void => {
    const guarded = async (...given: readonly unknown[]): Promise<unknown> => {
      if (isLost(given) && ofRows.has(id)) {
        void vscode.window.showInformationMessage("Abey: the list has changed under the click; click again");
        return undefined;
      }
      try {
        return await run(...given);
      } catch (problem) {
        // Not thrown on: VS Code would say it again, and make links of it
        failed(problem);
        return undefined;
      }
    };
    register(vscode.commands.registerCommand(id, guarded));
  };
  return { extension, daemon, followings, sessions, log, command, register, failed };
}

interface Manifest {
  readonly contributes: { readonly menus: Readonly<Record<string, readonly { readonly command: string }[]>> };
}

/** Those that stand on rows and not above them, where VS Code gives what is selected, if anything is. */
function rowCommands({ contributes: { menus } }: Manifest): ReadonlySet<string> {
  const [rows = [], titles = []] = [menus["view/item/context"], menus["view/title"]];
  const above = new Set(titles.map(({ command }) => command));
  return new Set(rows.map(({ command }) => command).filter((command) => !above.has(command)));
}

/** A row that is drawn anew while it is clicked comes as nothing: what is in front was not meant. */
function isLost(given: readonly unknown[]): boolean {
  return given.length > 1 && given[0] === undefined;
}

/** With the one button for a program that is not there. */
async function sayFailure(problem: unknown): Promise<void> {
  const missing = problem instanceof AbeyError && problem.kind === "daemon/missing";
  const text = escapeMessage(`Abey: ${errorText(problem)}`);
  const answer = await vscode.window.showErrorMessage(text, ...(missing ? ["Install…"] : []));
  if (answer !== undefined) {
    await vscode.commands.executeCommand("abey.install");
  }
}
