// Another client of the daemon, that notes when it hears what streams.
import { spawn, type ChildProcess } from "node:child_process";
import * as rpc from "vscode-jsonrpc/node";
import type { AgentsEvent } from "../../src/protocol";
import type { Place } from "./place";

export class Watcher {
  private constructor(
    private readonly child: ChildProcess,
    /** Each delta: until which character it went, and when it came. */
    readonly heard: { readonly until: number; readonly at: number }[],
  ) {}

  static async of(place: Place, sessionId: string): Promise<Watcher> {
    const child = spawn("abey-daemon", ["--stdio"], { env: place.env, stdio: ["pipe", "pipe", "ignore"] });
    const connection = rpc.createMessageConnection(child.stdout, child.stdin);
    const watcher = new Watcher(child, []);
    connection.onNotification("agents/event", ({ event }: AgentsEvent) => {
      if (event["type"] === "item/delta" && event["kind"] === "answer") {
        watcher.heard.push({ until: Number(event["offset"]) + String(event["text"]).length, at: Date.now() });
      }
    });
    connection.listen();
    const agents = { protocolVersions: ["1.0"], clientId: "watcher", deltas: true };
    await connection.sendRequest("initialize", { processId: process.pid, rootUri: null, capabilities: { experimental: { agents } } });
    await connection.sendNotification("initialized", {});
    await connection.sendRequest("agents/attach", { sessionId, deltas: true });
    return watcher;
  }

  dispose(): void {
    this.child.kill();
  }
}
