// What the tests in a real VS Code need of the machine. Where it is not there they are skipped, and say so.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

export const codeServer = process.env["VSCODE_DIR"] ?? "";
export const chromium = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
/** Of abey and of all that it needs: what a package index would have. */
export const wheels = process.env["ABEY_WHEELS"] ?? "";
const serverMain = join(codeServer, "code-server/lib/vscode/out/server-main.js");
const terminals = join(codeServer, "code-server/lib/vscode/node_modules/node-pty");

/** Why there can be no test in a real VS Code; undefined where there can. */
export function missing(): string | undefined {
  const lacks = [
    [existsSync(serverMain), `no VS Code in "${codeServer}": test/install FOLDER, and name it in VSCODE_DIR`],
    [existsSync(chromium), `no Chromium at ${chromium}: install it, or name one in CHROMIUM`],
    [program("abey-daemon"), "no abey-daemon on PATH: install abey, or name the folder of its programs in ABEY_BIN"],
  ] as const;
  return lacks.find(([there]) => !there)?.[1];
}

/** Why there can be no terminal in this VS Code: 1.100 comes without the native part of it. */
export function noTerminal(): string | undefined {
  const native = ["build/Release/pty.node", `prebuilds/${process.platform}-${process.arch}/pty.node`];
  return native.some((path) => existsSync(join(terminals, path))) ? undefined : "no terminals in this VS Code: 1.139 has them";
}

export function noWheels(): string | undefined {
  return existsSync(wheels) ? undefined : "no wheels of abey and what it needs: name their folder in ABEY_WHEELS";
}

export function hasDaemon(): boolean {
  return program("abey-daemon");
}

function program(name: string): boolean {
  const folders = [process.env["ABEY_BIN"], ...(process.env["PATH"] ?? "").split(delimiter)];
  return folders.some((folder) => folder !== undefined && existsSync(join(folder, name)));
}
