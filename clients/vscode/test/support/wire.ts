// A connection to the real daemon over stdio, by vscode-jsonrpc: what an editor says, without an editor.
import { spawn } from "node:child_process";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import type { Dial, Link, Told } from "../../src/core/link";
import type { AgentsEvent, AgentsServerCapabilities, ConfigChanged, Overflow, Summary } from "../../src/protocol";
import type { Place } from "./place";

/** Who says it: the editor, unless told otherwise. */
export function wire(place: Place, who = { name: "VS Code", kind: "vscode" }): Dial {
  return async (told) => {
    const child = spawn("abey-daemon", ["--stdio"], {
      env: place.env,
      cwd: place.home,
      stdio: ["pipe", "pipe", "ignore"],
    });
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    const closed = new Promise<string>((resolve) => connection.onClose(() => resolve("the connection ended")));
    child.stdin.on("error", () => undefined);
    hear(connection, told);
    connection.listen();
    const { capabilities } = await connection.sendRequest<Initialized>("initialize", {
      processId: process.pid,
      rootUri: null,
      capabilities: {
        experimental: { agents: { protocolVersions: ["1.0"], ...who, deltas: true } },
      },
      initializationOptions: { env: { PATH: place.env["PATH"] ?? "", HOME: place.home } },
    });
    await connection.sendNotification("initialized", {});
    return link(connection, capabilities.experimental.agents, closed);
  };
}

interface Initialized {
  readonly capabilities: { readonly experimental: { readonly agents: AgentsServerCapabilities } };
}

type Connection = ReturnType<typeof createMessageConnection>;

function hear(connection: Connection, told: Told): void {
  connection.onNotification("agents/summary", (params: Summary) => told.summary(params));
  connection.onNotification("agents/event", (params: AgentsEvent) => told.event(params));
  connection.onNotification("agents/overflow", (params: Overflow) => told.overflow(params));
  connection.onNotification("agents/configChanged", (params: ConfigChanged) => told.configChanged(params));
}

function link(connection: Connection, agents: AgentsServerCapabilities, closed: Promise<string>): Link {
  let over = false;
  void closed.then(() => {
    over = true;
    connection.dispose();
  });
  return {
    methods: agents.methods,
    build: agents.daemon.buildId,
    stateDir: agents.daemon.stateDir,
    closed,
    request: (method, params) => connection.sendRequest(method, params),
    close: async () => {
      if (!over) {
        await connection.sendRequest("shutdown");
        await connection.sendNotification("exit");
        await closed;
      }
    },
  };
}
