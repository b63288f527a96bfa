// Agent files and the demo, in the extension host; what VS Code's own JSON says of the files of abey.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as vscode from "vscode";
import { agents, type Session } from "../../src/protocol";
import { until } from "../support/until";
import type { Case } from "./commands";

const run = <R>(verb: string, ...given: readonly unknown[]): Thenable<R> =>
  vscode.commands.executeCommand(`abey.${verb}`, ...given);

/** What VS Code itself finds in a JSON file with comments, trailing commas, and a key that stands there twice. */
async function foundInLoose(path: string): Promise<readonly string[]> {
  const found = (): readonly string[] =>
    vscode.languages
      .getDiagnostics(vscode.Uri.file(path))
      .filter(({ source }) => source?.startsWith("json"))
      .map(({ message }) => message);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '// Loose\n{"slug": "loose", "slug": "loose",}\n');
  await vscode.window.showTextDocument(vscode.Uri.file(path));
  return until(`${path} is looked at`, () => (found().length > 0 ? found() : undefined));
}

export const agentFiles: readonly Case[] = [
  [
    "a new agent is written once, may have comments, and is listed",
    async (context) => {
      const path = await run<string>("newAgent", { slug: "mine" });
      assert.ok(existsSync(path));
      assert.equal(await run("newAgent", { slug: "mine" }), undefined, "one that is there is kept");
      await until("its language", () => vscode.window.activeTextEditor?.document.languageId === "jsonc");
      const { items } = await context.daemon.request(agents.list, {});
      assert.equal(items.find(({ slug }) => slug === "mine")?.state, "ok");
      const wrong = () => vscode.languages.getDiagnostics(vscode.Uri.file(path)).map(({ message }) => message);
      assert.deepEqual(wrong(), []);
      const lens = await until("its lens", async () => {
        const uri = vscode.Uri.file(path);
        const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>("vscode.executeCodeLensProvider", uri, 10);
        return lenses.find(({ command }) => command?.command === "abey.start")?.command;
      });
      assert.match(lens.title, /^Start session/);
      const started = await run<Session>("start", { ...(lens.arguments?.[0] as object), prompt: "go", cwd: tmpdir() });
      assert.equal(started.agent, "mine");
    },
  ],
  [
    "the demo starts without a key and waits for somebody",
    async (context) => {
      const { sessionId } = await run<Session>("demo");
      const call = await until("its call waits", () =>
        context.sessions.waiting().find((each) => each.sessionId === sessionId),
      );
      assert.deepEqual(call.arguments, { command: "date" });
      await run("open", sessionId);
      await run("stop", { sessionId, confirmed: true });
    },
  ],
  [
    "comments and trailing commas are fine where abey says so",
    async () => {
      const [folder] = vscode.workspace.workspaceFolders ?? [];
      for (const path of [".abey/agents/loose.json", ".abey/policy.json", "documents/s1.1.args.json"]) {
        const found = await foundInLoose(join(folder?.uri.fsPath ?? "", path));
        assert.deepEqual([...new Set(found)].filter((message) => /comma|comment/i.test(message)), [], path);
      }
    },
  ],
];
