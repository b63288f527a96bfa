// One button for a daemon that is not there: a visible terminal does what a person would, or a wheel is taken.
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as vscode from "vscode";
import type { Context } from "../context";
import { homely } from "../core/home";
import { installLine, type Installer } from "../core/installing";
import type { LastingDaemon } from "../core/lasting";
import { isInside, venvFolder } from "../core/locate";
import { text } from "../core/given";
import { located } from "./start";

/** How long the program of the terminal is waited for. */
const patienceMs = 10 * 60_000;
const lookMs = 1000;

interface Way extends vscode.QuickPickItem {
  readonly installer?: Installer;
  readonly choose?: true;
}

/** `{installer, wheel?}` asks nothing. */
export async function installDaemon(context: Context, daemon: LastingDaemon, given: unknown): Promise<void> {
  if (process.platform === "win32") {
    return reopenInWsl();
  }
  const known = text(given, "installer") as Installer | undefined;
  const way: Way | undefined = known === undefined ? await chooseWay() : { label: known, installer: known };
  if (way?.choose) {
    return chooseProgram(daemon);
  }
  if (way?.installer === undefined) {
    return;
  }
  const wheel = text(given, "wheel") ?? (way.label.includes("wheel") ? await chooseWheel() : undefined);
  if (way.label.includes("wheel") && wheel === undefined) {
    return;
  }
  const terminal = vscode.window.createTerminal({ name: "Install Abey", cwd: homedir() });
  terminal.show();
  terminal.sendText(installLine(way.installer, wheel ?? "abey", venvFolder(process.env, homedir())));
  await installed(context, daemon, terminal);
}

/** The daemon has no Windows of its own. */
export async function reopenInWsl(): Promise<void> {
  const answer = await vscode.window.showInformationMessage("Abey: on Windows the daemon runs in WSL", "Reopen in WSL");
  if (answer !== undefined) {
    await vscode.commands.executeCommand("remote-wsl.reopenInWSL");
  }
}

/** Looks until the program is there, or the terminal was closed. */
async function installed(context: Context, daemon: LastingDaemon, terminal: vscode.Terminal): Promise<void> {
  const until = Date.now() + patienceMs;
  while (Date.now() < until && terminal.exitStatus === undefined) {
    if ("path" in located()) {
      await daemon.connect();
      void vscode.window.showInformationMessage("Abey: the daemon is installed, and connected");
      return;
    }
    await pause(lookMs);
  }
  context.log.info("nothing was installed");
}

async function chooseWay(): Promise<Way | undefined> {
  const [best] = installers();
  const ways: Way[] = [
    ...installers().map((installer) => ({ ...describe(installer), installer })),
    { label: "From a wheel…", detail: "a file abey-….whl that you have", installer: best ?? "venv" },
    { label: "It is installed: choose the program…", detail: "sets abey.daemonPath", choose: true },
  ];
  return vscode.window.showQuickPick(ways, {
    placeHolder: "How to install the daemon; it runs in a terminal that you see",
  });
}

/** Those that are there, the best first; each of them is looked for outside of the workspace only. */
function installers(): readonly Installer[] {
  const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
  const has = (name: string): boolean =>
    [...(process.env["PATH"] ?? "").split(delimiter), join(homedir(), ".local", "bin")]
      .filter(isAbsolute)
      .some((folder) => !isInside(folder, folders) && isProgram(join(folder, name)));
  return [...(has("uv") ? ["uv" as const] : []), ...(has("pipx") ? ["pipx" as const] : []), "venv"];
}

function describe(installer: Installer): Way {
  const venv = venvFolder(process.env, homedir());
  return {
    label: { uv: "With uv", pipx: "With pipx", venv: "With Python" }[installer],
    detail: installer === "venv" ? `an environment of its own in ${homely(venv, homedir())}` : installLine(installer, "abey", venv),
  };
}

async function chooseWheel(): Promise<string | undefined> {
  const picked = await vscode.window.showOpenDialog({ filters: { Wheel: ["whl"] }, openLabel: "Install" });
  return picked?.[0]?.fsPath;
}

async function chooseProgram(daemon: LastingDaemon): Promise<void> {
  const [program] = (await vscode.window.showOpenDialog({ openLabel: "Use", title: "abey-daemon" })) ?? [];
  if (program !== undefined) {
    const settings = vscode.workspace.getConfiguration("abey");
    await settings.update("daemonPath", program.fsPath, vscode.ConfigurationTarget.Global);
    await daemon.connect();
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
