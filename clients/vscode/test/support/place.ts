// One user's machine: folders and an environment of its own, what stands in them, and the installed programs.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Link } from "../../src/core/link";
import type { Methods } from "../../src/protocol";
import { wire } from "./wire";

const run = promisify(execFile);

export class Place {
  readonly root = mkdtempSync(join(process.env["ABEY_TEST_TMP"] ?? tmpdir(), "abey-vscode-"));
  readonly home = process.env["ABEY_TEST_HOME"] ?? join(this.root, "home");
  readonly work = join(this.home, "work");
  readonly state = join(this.root, "state");
  readonly config = join(this.root, "config");
  readonly env: NodeJS.ProcessEnv;
  private line: Promise<Link> | undefined;

  constructor() {
    const temporary = join(this.root, "tmp");
    [this.home, this.work, temporary, join(this.config, "agents")].forEach((folder) => mkdirSync(folder, { recursive: true }));
    this.env = {
      PATH: [...(process.env["ABEY_BIN"] ? [process.env["ABEY_BIN"]] : []), process.env["PATH"]].join(delimiter),
      LANG: "C.UTF-8",
      HOME: this.home,
      TMPDIR: temporary,
      ABEY_STATE_DIR: this.state,
      ABEY_CONFIG_DIR: this.config,
      ABEY_RUNTIME_DIR: join(this.root, "run"),
      NO_COLOR: "1",
    };
    // VS Code takes the PATH of a login shell
    writeFileSync(join(this.home, ".profile"), `export PATH='${this.env["PATH"]}'\n`);
  }

  /** An agent of the user, under its slug. */
  agent(slug: string, rest: Readonly<Record<string, unknown>>): void {
    writeFileSync(join(this.config, "agents", `${slug}.json`), JSON.stringify({ slug, ...rest }, null, 2));
  }

  /** Of a file of the workspace. */
  path(name: string): string {
    return join(this.work, name);
  }

  file(name: string, text: string): string {
    const path = this.path(name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** What stands in a file of the workspace; undefined where there is none yet. */
  read(name: string): string | undefined {
    const path = join(this.work, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }

  /** What `abey` prints on stdout, somewhere else than in the editor: in a terminal. */
  async abey(...words: readonly string[]): Promise<string> {
    return (await run("abey", words, { env: this.env, cwd: this.work, timeout: 60_000 })).stdout;
  }

  async ask<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    const link = await (this.line ??= this.dial());
    return (await link.request(method, params)) as Methods[M]["result"];
  }

  /** A session of an agent of the user in the workspace, driven to its first call that waits. */
  async waiting(agent: string, prompt = "go", how: "step" | "turn" = "step"): Promise<string> {
    const params = { agent, prompt, cwd: this.work, run: "step" } as const;
    const { sessionId } = await this.ask("agents/start", { ...params, run: how });
    for (;;) {
      const { session } = await this.ask("agents/get", { sessionId });
      if (session.pending.length > 0) {
        return sessionId;
      }
      await this.ask("agents/step", { sessionId });
    }
  }

  /** How many bytes outlast the daemon of what the tools of a session have printed that run. */
  printed(sessionId: string): number {
    const folder = join(this.state, "sessions", sessionId);
    const kept = readdirSync(folder).filter((name) => name.startsWith("partial-"));
    // One that is being written gets another name meanwhile
    return kept.reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0);
  }

  async kill(): Promise<void> {
    const { daemon } = await this.ask("agents/status", {});
    const line = await this.line;
    this.line = undefined;
    process.kill(daemon.pid, "SIGKILL");
    // Who asks next asks another one
    await line?.closed;
  }

  /** One more client, that stays: to start a program for each question would take most of the time of a test. */
  private dial(): Promise<Link> {
    const ignored = (): undefined => undefined;
    const told = { summary: ignored, event: ignored, overflow: ignored, configChanged: ignored };
    const line = wire(this, { name: "a test", kind: "test" })(told);
    const over = (): void => {
      if (this.line === line) {
        this.line = undefined;
      }
    };
    line.then(({ closed }) => closed).then(over, over);
    return line;
  }

  async dispose(): Promise<void> {
    await this.line?.then((link) => link.close()).catch(() => undefined);
    // Also where a test has installed the programs, on a machine whose PATH had none
    const installed = [".local/bin", ".local/share/abey/venv/bin"].map((folder) => join(this.home, folder));
    this.env["PATH"] = [...installed, this.env["PATH"]].join(delimiter);
    await this.abey("daemon", "stop").catch(() => undefined);
    if (process.env["ABEY_TEST_KEEP"] === undefined) {
      rmSync(this.root, { recursive: true, force: true, maxRetries: 20 });
    }
  }
}
