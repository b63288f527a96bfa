// Approve, Deny and the other answers. Without the hash of what was shown nothing is approved: the review opens.
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Context } from "../context";
import { whoAnswered } from "../core/calls";
import { AbeyError } from "../core/daemon";
import { escapeLabel, escapeMessage } from "../core/escape";
import { callRow, callText } from "../core/waiting";
import { agents, type CompleteParams, type CompleteResult, type Outcome, type Pending } from "../protocol";
import { editArguments, openReview } from "../review/open";
import { ready } from "./choosing";
import { callOf, record, text, tokenOf } from "../core/given";

export function registerAnswering(context: Context): void {
  context.command("abey.approve", (given) => approve(context, given, false));
  context.command("abey.approveAndContinue", (given) => approve(context, given, true));
  context.command("abey.deny", (given) => deny(context, given));
  context.command("abey.review", (given) => withCall(context, given, "review", openReview));
  context.command("abey.editArguments", (given) => withCall(context, given, "edit", editArguments));
  context.command("abey.complete", (given) => complete(context, given));
  context.command("abey.pending", (given) => showPending(context, given));
}

/** Of a row that shows the whole call, or with the `argumentsHash` of a call that was shown. */
async function approve(context: Context, given: unknown, resume: boolean): Promise<unknown> {
  const call = callOf(given);
  const shown = call === undefined ? undefined : callRow(call, context.sessions.get(call.sessionId));
  const hash = shown?.whole ? shown.call.argumentsHash : text(given, "argumentsHash");
  const token = tokenOf(given);
  if (token === undefined || hash === undefined) {
    return withCall(context, given, "review", openReview);
  }
  const edited = record(given)["arguments"];
  const outcome = { kind: "approve", ...(isObject(edited) ? { arguments: edited } : {}) } as const;
  return answer(context, { token, outcome, argumentsHash: hash, resume, ...besides(given) });
}

async function deny(context: Context, given: unknown): Promise<unknown> {
  return withCall(context, given, "deny", (token) => {
    const session = context.sessions.get(context.sessions.call(token)?.sessionId ?? "");
    const message = text(given, "message");
    const outcome: Outcome = { kind: "deny", ...(message === undefined ? {} : { message }) };
    return answer(context, { token, outcome, resume: session?.drivenBy === "run", ...besides(given) });
  });
}

/** `{token, outcome}` as agents/complete has it, `{document, decision}` of a lens; else a result is asked for. */
async function complete(context: Context, given: unknown): Promise<unknown> {
  if (text(given, "document") !== undefined) {
    return context.daemon.execute("abey.complete", given);
  }
  if (typeof record(given)["outcome"] === "object") {
    return answer(context, given as CompleteParams);
  }
  return withCall(context, given, "complete", async (token) => {
    const typed = await vscode.window.showInputBox({
      title: "The result of this call, as the model is told it",
      prompt: "JSON, or else taken as text",
      ignoreFocusOut: true,
    });
    return typed === undefined
      ? undefined
      : answer(context, { token, outcome: { kind: "result", content: jsonOrText(typed) } });
  });
}

/** Sends it, and says what came of it where somebody else was first. */
async function answer(context: Context, asked: CompleteParams): Promise<CompleteResult | undefined> {
  try {
    const result = await context.daemon.request(agents.complete, {
      idempotencyKey: randomUUID(),
      wait: false,
      ...asked,
    });
    context.sessions.saw(result.session);
    if (!result.applied) {
      void vscode.window.showInformationMessage(escapeMessage(`Abey: already ${result.resolution.text}`));
    }
    return result;
  } catch (problem) {
    if (problem instanceof AbeyError && problem.kind === "arguments/mismatch") {
      void vscode.window.showWarningMessage("Abey: the call is another one by now; look at it again");
      await openReview(asked.token);
      return undefined;
    }
    throw problem;
  }
}

/** The view, and of one call its review. With calls it is about these: of one that was answered meanwhile says by whom. */
async function showPending(context: Context, given: unknown): Promise<unknown> {
  await vscode.commands.executeCommand("abey.pending.focus");
  const { items } = await context.daemon.request(agents.pending, { limit: 1000 });
  const waiting = items.filter(({ kind }) => kind !== "running");
  const asked = Array.isArray(given) ? (given as readonly Pending[]) : waiting;
  const [first, ...more] = asked.filter(({ token }) => waiting.some((call) => call.token === token));
  if (first !== undefined) {
    return more.length === 0 ? openReview(first.token) : undefined;
  }
  const [gone] = asked;
  const by = gone && (await whoAnswered(context.daemon, gone.sessionId, gone.token));
  const said =
    by === undefined
      ? "nothing waits for you"
      : asked.length === 1
        ? `already ${by}`
        : `already answered; the first was ${by}`;
  void vscode.window.showInformationMessage(escapeMessage(`Abey: ${said}`));
  return undefined;
}

async function withCall<R>(
  context: Context,
  given: unknown,
  verb: string,
  run: (token: string) => Promise<R>,
): Promise<R | undefined> {
  const token = tokenOf(given) ?? (await chooseCall(context, `The call to ${verb}`));
  return token === undefined ? undefined : run(token);
}

async function chooseCall(context: Context, placeHolder: string): Promise<string | undefined> {
  await ready(context);
  const calls = context.sessions.waiting();
  if (calls.length === 0) {
    void vscode.window.showInformationMessage("Abey: nothing waits for you");
  }
  return calls.length < 2
    ? calls[0]?.token
    : (
        await vscode.window.showQuickPick(
          calls.map((call) => callPick(context, call)),
          { placeHolder },
        )
      )?.token;
}

function callPick(context: Context, call: Pending): vscode.QuickPickItem & { readonly token: string } {
  const title = context.sessions.get(call.sessionId)?.title ?? call.sessionId;
  return { label: escapeLabel(callText(call)), description: escapeLabel(title), token: call.token };
}

/** Those of the params that a caller may say besides. */
function besides(given: unknown): Partial<CompleteParams> {
  const { rule, resume, wait, idempotencyKey, ifRevision } = record(given) as Partial<CompleteParams>;
  return Object.fromEntries(
    Object.entries({ rule, resume, wait, idempotencyKey, ifRevision }).filter(([, value]) => value !== undefined),
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function jsonOrText(typed: string): unknown {
  try {
    return JSON.parse(typed);
  } catch {
    return typed;
  }
}
