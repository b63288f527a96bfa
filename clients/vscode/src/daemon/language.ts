// A connection by vscode-languageclient: agent files are documents of the daemon's, as of any language server.
import { spawn, type ChildProcess } from "node:child_process";
import { homedir } from "node:os";
import { createInterface } from "node:readline";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  ShowMessageNotification,
  State,
  type LanguageClientOptions,
  type StaticFeature,
} from "vscode-languageclient/node";
import { AbeyError } from "../core/daemon";
import { escapeMessage } from "../core/escape";
import type { Link, Told } from "../core/link";
import { otherBuild } from "../core/wording";
import type { AgentsClientCapabilities, AgentsServerCapabilities, InitializationOptions } from "../protocol";
import { documents } from "./documents";

/** A machine that is busy takes its time to start Python; one that says nothing for so long never will. */
const patienceMs = 30_000;

export interface Settings {
  readonly program: string;
  readonly log: vscode.LogOutputChannel;
  readonly clientId: string;
}

/** Starts `abey-daemon --stdio`, which carries this to the shared daemon. */
export async function connect(settings: Settings, told: Told): Promise<Link> {
  let child: ChildProcess | undefined;
  const start = async (): Promise<ChildProcess> => (child = await started(settings));
  const client = new QuietClient("abey", "Abey", start, options(settings));
  client.registerFeature(ours(settings.clientId));
  const closed = new Promise<string>((resolve) => {
    client.onDidChangeState(({ newState }) => newState === State.Stopped && resolve("the connection ended"));
  });
  client.onNotification("agents/summary", told.summary);
  client.onNotification("agents/event", told.event);
  client.onNotification("agents/overflow", told.overflow);
  client.onNotification("agents/configChanged", told.configChanged);
  // Nobody else would end one that does not answer, or not as we need it
  const late = setTimeout(() => child?.kill(), patienceMs);
  try {
    await client.start();
    client.onNotification(ShowMessageNotification.type, ({ message }) => {
      // The client's own handler would make links of what others wrote
      void vscode.window.showInformationMessage(escapeMessage(message));
    });
    return link(client, closed);
  } catch (problem) {
    child?.kill();
    throw problem;
  } finally {
    clearTimeout(late);
  }
}

/** What goes wrong is in the log, and in the state of the daemon: a window for each try says nothing more. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

function link(client: LanguageClient, closed: Promise<string>): Link {
  const { initializeResult } = client;
  if (initializeResult === undefined) {
    throw new Error("abey-daemon ended before it answered");
  }
  const { agents } = (initializeResult.capabilities.experimental ?? {}) as { agents?: AgentsServerCapabilities };
  if (agents === undefined) {
    throw new AbeyError(0, "protocol/unsupported", "this is no daemon of abey");
  }
  return {
    methods: agents.methods,
    build: agents.daemon.buildId,
    stateDir: agents.daemon.stateDir,
    request: (method, params) => client.sendRequest(method, params),
    closed,
    close: () => client.dispose(),
  };
}

function options({ log }: Settings): LanguageClientOptions {
  return {
    documentSelector: documents(),
    middleware: {
      // What is opened is shown by who asked for it: a document of arguments beside those that were proposed
      window: { showDocument: async () => ({ success: true }) },
      // Those of a call approve what is written without showing what became of the proposal: they are for others
      provideCodeLenses: (document, token, next) => (isCall(document) ? [] : next(document, token)),
      provideCodeActions: (document, range, context, token, next) =>
        isCall(document) ? [] : next(document, range, context, token),
    },
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: (): InitializationOptions => ({
      env: environment(),
      workspaceTrusted: vscode.workspace.isTrusted,
    }),
    // Who connects again is core/lasting.ts: without limit, and with what was open
    initializationFailedHandler: () => false,
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
    },
    stdioOptions: {
      stdout: () => undefined,
      stderr: (input) => createInterface({ input }).on("line", (line) => heard(line, log)),
    },
  };
}

const offered = new Set<string>();

/** A daemon that an update has left behind works on; it is offered once to put the present one in its place. */
function heard(line: string, log: vscode.LogOutputChannel): void {
  log.info(`daemon: ${line}`);
  const other = otherBuild(line);
  if (other !== undefined && !offered.has(other)) {
    offered.add(other);
    void offerRestart(other);
  }
}

async function offerRestart(other: string): Promise<void> {
  const text = escapeMessage(`Abey: ${other}; sessions stay when it is restarted`);
  if ((await vscode.window.showInformationMessage(text, "Restart Daemon")) !== undefined) {
    await vscode.commands.executeCommand("abey.restartDaemon");
  }
}

function isCall({ fileName }: vscode.TextDocument): boolean {
  return fileName.endsWith(".args.json");
}

/** What makes this a client of `agents/`. */
function ours(clientId: string): StaticFeature {
  const agents: AgentsClientCapabilities = {
    protocolVersions: ["1.0"],
    clientId,
    name: "VS Code",
    kind: "vscode",
    ui: { approvals: true, editArguments: true, diffs: true },
    deltas: true,
  };
  return {
    fillClientCapabilities: (capabilities) => {
      capabilities.experimental = { ...(capabilities.experimental as object | undefined), agents };
    },
    initialize: () => undefined,
    getState: () => ({ kind: "static" }),
    clear: () => undefined,
  };
}

/** Without a folder of the workspace as its own, so that nothing there is in its way. */
function started({ program }: Settings): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ["--stdio"], { cwd: homedir(), env: environment() });
    child.once("spawn", () => resolve(child));
    child.once("error", reject);
    // A write to one that has ended is told by the end of the connection
    child.stdin.on("error", () => undefined);
  });
}

/** What this window was started with, less what VS Code itself put there. */
export function environment(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !/^(VSCODE|ELECTRON)_/.test(entry[0]),
  );
  return Object.fromEntries(entries);
}
