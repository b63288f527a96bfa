// Agent files in the editor: what VS Code itself is told of them, by the daemon as their language server.
import assert from "node:assert/strict";
import * as vscode from "vscode";
import { until } from "../support/until";
import type { Case } from "./commands";

/** Of somebody who is in the middle of it: the marks are where they ask. */
const typed = `{
  // Comments are allowed
  "slug": "typed",
  "model": {"provider": "scripted", "script": [{"text": "Hello."}]},
  "toolCallPolicy": {"default": "ru¹"},
  "systemPromt": ["Be²"],
  ³
}
`;

interface Asked {
  readonly uri: vscode.Uri;
  /** By its mark. */
  at(mark: "¹" | "²" | "³"): vscode.Position;
}

/** An agent file of the workspace's in an editor, unsaved. */
async function open(): Promise<Asked> {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  assert.ok(folder);
  const uri = vscode.Uri.joinPath(folder.uri, ".abey", "agents", "typed.json");
  await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(typed.replace(/[¹²³]/g, "")));
  await vscode.window.showTextDocument(uri);
  // VS Code's own JSON finds something in it, too
  await until("the daemon looks at it", () => vscode.languages.getDiagnostics(uri).some(({ source }) => source === "abey"));
  return {
    uri,
    at: (mark) => {
      const before = (typed.split(mark)[0] ?? "").replace(/[¹²³]/g, "").split("\n");
      return new vscode.Position(before.length - 1, before.at(-1)?.length ?? 0);
    },
  };
}

const labels = ({ items }: vscode.CompletionList): readonly string[] => items.map(({ label }) => (typeof label === "string" ? label : label.label));

export const language: readonly Case[] = [
  [
    "an agent file is completed: the words of a value, and the fields that lack",
    async () => {
      const { uri, at } = await open();
      const ask = (where: vscode.Position) => vscode.commands.executeCommand<vscode.CompletionList>("vscode.executeCompletionItemProvider", uri, where);
      const words = await ask(at("¹"));
      assert.deepEqual(["runSync", "defer", "deny"].filter((word) => !labels(words).join(" ").includes(word)), []);
      const fields = await ask(at("³"));
      assert.deepEqual(["systemPrompt", "tools"].filter((field) => !labels(fields).join(" ").includes(field)), []);
      assert.equal(labels(fields).some((label) => label.includes("slug")), false, "one that stands there is not offered");
    },
  ],
  [
    "a field of an agent file says what it means where the mouse rests",
    async () => {
      const { uri } = await open();
      const hovers = await vscode.commands.executeCommand<vscode.Hover[]>("vscode.executeHoverProvider", uri, new vscode.Position(4, 5));
      const said = hovers.flatMap(({ contents }) => contents.map((each) => (typeof each === "string" ? each : each.value)));
      assert.match(said.join("\n"), /toolCallPolicy/);
    },
  ],
  [
    "a field that is not known is mended by a code action",
    async () => {
      const { uri } = await open();
      const [finding] = vscode.languages.getDiagnostics(uri).filter(({ message }) => message.includes("systemPromt"));
      assert.ok(finding);
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>("vscode.executeCodeActionProvider", uri, finding.range);
      const mend = actions.find(({ title }) => title.includes("systemPrompt"));
      assert.ok(mend?.edit, JSON.stringify(actions.map(({ title }) => title)));
      await vscode.workspace.applyEdit(mend.edit);
      const document = await vscode.workspace.openTextDocument(uri);
      assert.match(document.getText(), /"systemPrompt": \["Be"\]/);
      await until("it is no finding any more", () => !vscode.languages.getDiagnostics(uri).some(({ message }) => message.includes("systemPromt")));
      await vscode.commands.executeCommand("workbench.action.files.revert");
    },
  ],
];
