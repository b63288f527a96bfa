// Runs inside the extension host of a real VS Code, with the real daemon: commands by their argument forms, tabs, tests
// of what only `vscode` can tell.
import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { Context } from "../../src/context";
import { agents, type Pending, type Session } from "../../src/protocol";
import { until } from "../support/until";
import { agentFiles } from "./agents";
import { commands } from "./commands";
import { forms } from "./forms";
import { language } from "./language";
import { places } from "./places";
import { reviews } from "./reviews";

type Test = readonly [string, (context: Context) => Promise<void>];

const tests: readonly Test[] = [
  ["every command that is contributed is registered", commandsAreRegistered],
  ["a session is started, stepped, reviewed and approved by commands alone", drivenByCommands],
  ["without the hash of what was shown nothing is approved: the review opens", nothingUnseen],
  ["a call that was answered elsewhere closes its review", answeredElsewhere],
  ["the arguments of a call are a document of the daemon's, with its findings", argumentsHaveFindings],
  ["nothing of a review can be written", reviewsAreReadOnly],
  ...reviews,
  ...commands,
  ...forms,
  ...agentFiles,
  ...language,
  ...places,
];

export async function run(): Promise<void> {
  const extension = vscode.extensions.getExtension<Context>("abey.abey");
  assert.ok(extension, "the extension is found");
  const context = await extension.activate();
  console.log(`VS Code ${vscode.version}, Node ${process.version}`);
  for (const [name, test] of tests) {
    await test(context);
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    console.log(`ok - ${name}`);
  }
  console.log(`${tests.length} passed, 0 failed`);
}

async function commandsAreRegistered(): Promise<void> {
  const manifest = vscode.extensions.getExtension("abey.abey")?.packageJSON as {
    readonly contributes: { readonly commands: readonly { readonly command: string }[] };
  };
  const registered = new Set(await vscode.commands.getCommands(true));
  const lacking = manifest.contributes.commands.map(({ command }) => command).filter((command) => !registered.has(command));
  assert.deepEqual(lacking, []);
}

async function drivenByCommands(context: Context): Promise<void> {
  const { call, session } = await waiting(context);
  assert.deepEqual(call.arguments, { command: "echo one" });
  const { token, argumentsHash } = call;
  await vscode.commands.executeCommand("abey.approve", { token, argumentsHash });
  await until("one call is left", async () => (await pendingOf(context, session)).length === 1);
}

async function nothingUnseen(context: Context): Promise<void> {
  const { call, session } = await waiting(context);
  await vscode.commands.executeCommand("abey.approve", { token: call.token });
  await until("the review is open", () => tabs().some(isReview));
  assert.equal((await pendingOf(context, session)).length, 2);
}

async function answeredElsewhere(context: Context): Promise<void> {
  const { call } = await waiting(context);
  await vscode.commands.executeCommand("abey.review", call.token);
  await until("the review is open", () => tabs().some(isReview));
  await context.daemon.request(agents.complete, { token: call.token, outcome: { kind: "deny" } });
  await until("the review is closed", () => !tabs().some(isReview));
}

async function argumentsHaveFindings(context: Context): Promise<void> {
  const { call } = await waiting(context);
  await vscode.commands.executeCommand("abey.editArguments", call.token);
  const editor = await until("the document is in front", () => {
    const { activeTextEditor } = vscode.window;
    return activeTextEditor?.document.fileName.endsWith(".args.json") ? activeTextEditor : undefined;
  });
  assert.equal(editor.document.languageId, "jsonc");
  assert.deepEqual(JSON.parse(editor.document.getText()), call.arguments);
  const all = new vscode.Range(0, 0, editor.document.lineCount, 0);
  await editor.edit((edit) => edit.replace(all, '{"command": 5}\n'));
  const findings = await until("the daemon says what does not fit", () => {
    const said = vscode.languages.getDiagnostics(editor.document.uri);
    return said.length > 0 ? said : undefined;
  });
  assert.equal(findings[0]?.range.start.line, 0);
  await editor.document.save();
  assert.equal((await context.daemon.request(agents.pending, { sessionId: call.sessionId })).items.length, 2);
  await vscode.commands.executeCommand("abey.approveEdited");
  assert.equal((await context.daemon.request(agents.pending, { sessionId: call.sessionId })).items.length, 2);
}

async function reviewsAreReadOnly(): Promise<void> {
  assert.equal(vscode.workspace.fs.isWritableFileSystem("abey-review") ?? false, false);
}

async function waiting(context: Context): Promise<{ readonly session: Session; readonly call: Pending }> {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  const asked = { agent: "asking", prompt: "go", cwd: folder?.uri.fsPath };
  const session = await vscode.commands.executeCommand<Session>("abey.start", asked);
  const [call] = await until("two calls wait", async () => {
    await vscode.commands.executeCommand("abey.step", session.sessionId);
    const found = await pendingOf(context, session);
    return found.length === 2 ? found : undefined;
  });
  assert.ok(call);
  return { session, call };
}

async function pendingOf(context: Context, { sessionId }: Session): Promise<readonly Pending[]> {
  return (await context.daemon.request(agents.pending, { sessionId, kinds: ["approval"] })).items;
}

function tabs(): readonly vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs);
}

function isReview({ input }: vscode.Tab): boolean {
  return input instanceof vscode.TabInputWebview && input.viewType.endsWith("abey.review");
}
