// A real VS Code: its server on this machine's loopback, all that it keeps in one folder.
import { spawn, execFile, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, openSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { codeServer } from "./available";
import type { Place } from "./place";
import { until } from "./until";

export const settings = {
  "workbench.startupEditor": "none",
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "workbench.enableExperiments": false,
  "workbench.tips.enabled": false,
  "update.mode": "none",
  "update.showReleaseNotes": false,
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "workbench.settings.enableNaturalLanguageSearch": false,
  "git.enabled": false,
  "chat.disableAIFeatures": true,
  "chat.commandCenter.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.reduceMotion": "on",
  // What hovers over a row would take the click on the one below
  "workbench.hover.delay": 600_000,
  "editor.accessibilitySupport": "off",
  "editor.cursorBlinking": "solid",
  // What is typed is what stands there
  "editor.autoClosingBrackets": "never",
  "editor.autoClosingQuotes": "never",
  "editor.autoIndent": "none",
  "files.autoSave": "off",
  "window.menuBarVisibility": "compact",
  "typescript.disableAutomaticTypeAcquisition": true,
  "json.schemaDownload.enable": false,
  "npm.fetchOnlinePackageInfo": false,
};

export interface CodeOptions {
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Installed before the server starts. */
  readonly vsix?: string;
  readonly more?: readonly string[];
}

export class Code {
  private constructor(
    readonly port: number,
    private readonly server: ChildProcess,
    private readonly log: string,
    private readonly data: string,
    private readonly settings: Readonly<Record<string, unknown>>,
  ) {}

  static async start(place: Place, options: CodeOptions = {}): Promise<Code> {
    const data = join(place.root, "code");
    const chosen = { ...settings, ...options.settings };
    keep(data, chosen);
    const node = join(codeServer, "node");
    const env = { ...place.env, EXTENSIONS_GALLERY: "{}" };
    const base = [
      join(codeServer, "code-server/lib/vscode/out/server-main.js"),
      "--accept-server-license-terms",
      ...["--server-data-dir", data, "--extensions-dir", join(place.root, "extensions"), "--telemetry-level", "off"],
    ];
    const program = existsSync(node) ? node : process.execPath;
    if (options.vsix !== undefined) {
      await promisify(execFile)(program, [...base, "--install-extension", options.vsix], { env, timeout: 180_000 });
    }
    const port = await freePort();
    const log = join(place.root, "code.log");
    const stream = openSync(log, "a");
    const where = ["--host", "127.0.0.1", "--port", String(port), "--without-connection-token"];
    const server = spawn(program, [...base, ...where, ...(options.more ?? [])], {
      cwd: place.root,
      env,
      stdio: ["ignore", stream, stream],
      detached: true,
    });
    const code = new Code(port, server, log, data, chosen);
    await until(`VS Code answers on port ${port}`, () => code.answers());
    return code;
  }

  /** Of a window with the folders that a `.code-workspace` names. */
  workspace(path: string): string {
    return `http://127.0.0.1:${this.port}/?workspace=${encodeURIComponent(path)}`;
  }

  /** Whether VS Code has written down what a `.code-workspace` says, for the next window to begin with. */
  keepsWorkspace(): boolean {
    const kept = join(this.data, "data/User/caches/CachedConfigurations/workspaces");
    const files = existsSync(kept) ? readdirSync(kept).map((id) => join(kept, id, "workspace.json")) : [];
    // It is made, and then filled
    return files.some((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0);
  }

  /** Of a window without a folder. */
  get empty(): string {
    return `http://127.0.0.1:${this.port}/?ew=true`;
  }

  url(folder: string, payload: readonly (readonly [string, string])[] = []): string {
    const more = payload.length > 0 ? `&payload=${encodeURIComponent(JSON.stringify(payload))}` : "";
    return `http://127.0.0.1:${this.port}/?folder=${encodeURIComponent(folder)}${more}`;
  }

  /** Changes settings under the windows that are open, as who edits the file does. */
  set(changed: Readonly<Record<string, unknown>>): void {
    keep(this.data, { ...this.settings, ...changed });
  }

  said(): string {
    return readFileSync(this.log, "utf8").slice(-4000);
  }

  async stop(): Promise<void> {
    const { pid } = this.server;
    if (pid === undefined || this.server.exitCode !== null) {
      return;
    }
    const gone = new Promise((resolve) => this.server.once("exit", resolve));
    const strike = setTimeout(() => process.kill(-pid, "SIGKILL"), 5000);
    process.kill(-pid, "SIGTERM");
    await gone;
    clearTimeout(strike);
  }

  private async answers(): Promise<boolean> {
    if (this.server.exitCode !== null) {
      throw new Error(`the server of VS Code ended with ${this.server.exitCode}: ${this.said()}`);
    }
    return fetch(`http://127.0.0.1:${this.port}/`).then(
      (answer) => answer.ok,
      () => false,
    );
  }
}

function keep(data: string, chosen: Readonly<Record<string, unknown>>): void {
  for (const folder of ["data/User", "data/Machine", "User", "Machine"]) {
    mkdirSync(join(data, folder), { recursive: true });
    writeFileSync(join(data, folder, "settings.json"), JSON.stringify(chosen, null, 1));
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject(address)));
    });
  });
}
