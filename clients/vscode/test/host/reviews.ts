// Tabs of reviews: which call a click decides, and what becomes of them when somebody else was first.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Context } from "../../src/context";
import { agents, type Pending, type Session } from "../../src/protocol";
import { until } from "../support/until";

export type Case = readonly [name: string, run: (context: Context) => Promise<void>];

interface Change {
  readonly call: Pending;
  readonly file: string;
}

/** `notes.txt` is to become `theirs`; its change is in front. */
async function change(context: Context): Promise<Change> {
  const cwd = mkdtempSync(join(tmpdir(), "abey-host-"));
  const file = join(cwd, "notes.txt");
  writeFileSync(file, "ours\n");
  const asked = { agent: "writing", prompt: "write", cwd };
  const { sessionId } = await vscode.commands.executeCommand<Session>("abey.start", asked);
  await vscode.commands.executeCommand("abey.step", sessionId);
  await vscode.commands.executeCommand("abey.step", sessionId);
  const [call] = (await context.daemon.request(agents.pending, { sessionId })).items;
  assert.ok(call);
  return { call, file };
}

async function review({ call }: Change): Promise<vscode.Uri> {
  await vscode.commands.executeCommand("abey.review", call.token);
  return until("its diff is in front", () => {
    const uri = diffs().find(({ query }) => query.includes(call.token));
    return String(uri) === String(uriOf(vscode.window.tabGroups.activeTabGroup.activeTab)) ? uri : undefined;
  });
}

async function isWaiting(context: Context, { call }: Change): Promise<boolean> {
  return (await context.daemon.request(agents.pending, { sessionId: call.sessionId })).items.length > 0;
}

function uriOf(tab: vscode.Tab | undefined): vscode.Uri | undefined {
  return tab?.input instanceof vscode.TabInputTextDiff ? tab.input.modified : undefined;
}

function diffs(): readonly vscode.Uri[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs).flatMap((tab) => uriOf(tab) ?? []);
}

/** A tab is looked at before a click there counts. */
const looked = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 600));

async function shownWhole(context: Context): Promise<void> {
  const one = await change(context);
  const after = await review(one);
  assert.equal(after.scheme, "abey-review");
  assert.equal((await vscode.workspace.openTextDocument(after)).getText(), "theirs\n");
  const before = vscode.window.tabGroups.activeTabGroup.activeTab?.input as vscode.TabInputTextDiff;
  assert.equal((await vscode.workspace.openTextDocument(before.original)).getText(), "ours\n");
}

async function decidesItsOwn(context: Context): Promise<void> {
  const [one, other] = [await change(context), await change(context)];
  const first = await review(one);
  await vscode.commands.executeCommand("workbench.action.splitEditorRight");
  await review(other);
  await looked();
  await vscode.commands.executeCommand("abey.approveReview", first);
  await until("the first is written", () => readFileSync(one.file, "utf8") === "theirs\n");
  assert.equal(readFileSync(other.file, "utf8"), "ours\n");
  assert.equal(await isWaiting(context, other), true);
}

async function notSeenNotDecided(context: Context): Promise<void> {
  const one = await change(context);
  const clicked = new Promise<void>((resolve) => {
    const listening = vscode.window.tabGroups.onDidChangeTabs(() => {
      const uri = diffs().find(({ query }) => query.includes(one.call.token));
      if (uri !== undefined) {
        listening.dispose();
        vscode.commands.executeCommand("abey.approveReview", uri).then(() => resolve());
      }
    });
  });
  await review(one);
  await clicked;
  assert.equal(await isWaiting(context, one), true);
  assert.equal(readFileSync(one.file, "utf8"), "ours\n");
}

async function diffCloses(context: Context): Promise<void> {
  const one = await change(context);
  await review(one);
  await context.daemon.request(agents.complete, { token: one.call.token, outcome: { kind: "deny" } });
  await until("the diff is closed", () => !diffs().some(({ query }) => query.includes(one.call.token)));
}

async function argumentsClose(context: Context): Promise<void> {
  const one = await change(context);
  await vscode.commands.executeCommand("abey.editArguments", one.call.token);
  const document = await until("the arguments are in front", () => diffs().find(({ path }) => path.endsWith(".args.json")));
  await context.daemon.request(agents.complete, { token: one.call.token, outcome: { kind: "deny" } });
  await until("they are closed", () => !diffs().some((uri) => String(uri) === String(document)));
}

async function showsTheNewOne(context: Context): Promise<void> {
  const one = await change(context);
  const shown = await review(one);
  writeFileSync(one.file, "ours, changed\n");
  await looked();
  await vscode.commands.executeCommand("abey.approveReview", shown);
  const again = await until("the change is shown again, and in front", () => {
    const uri = uriOf(vscode.window.tabGroups.activeTabGroup.activeTab);
    return uri?.query.includes(one.call.token) && String(uri) !== String(shown) ? uri : undefined;
  });
  assert.equal(readFileSync(one.file, "utf8"), "ours, changed\n");
  await looked();
  await vscode.commands.executeCommand("abey.denyReview", again);
  await until("it is denied", async () => !(await isWaiting(context, one)));
  assert.equal(readFileSync(one.file, "utf8"), "ours, changed\n");
}

export const reviews: readonly Case[] = [
  ["a change is shown whole, on both sides", shownWhole],
  ["a title bar decides the call that it is about, whichever editor is in front", decidesItsOwn],
  ["what has only just come into sight is not decided by a click", notSeenNotDecided],
  ["a change that somebody else decided is closed", diffCloses],
  ["so are its arguments", argumentsClose],
  ["a change that is another one by now is shown, and not made", showsTheNewOne],
];
