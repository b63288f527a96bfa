// Step, Run and what else moves a session.
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Context } from "../context";
import { escapeMessage } from "../core/escape";
import { agents, type Method, type SendParams, type Session } from "../protocol";
import { chooseSession } from "./choosing";
import { record, text } from "../core/given";

interface Answer {
  readonly outcome?: string;
  readonly interrupted?: boolean;
  readonly applied?: boolean;
  readonly session: Session;
}

export function registerDriving(context: Context): void {
  const drive = (
    id: string,
    verb: string,
    method: Method<{ sessionId: string }, Answer>,
    fits: (s: Session) => boolean,
  ): void =>
    context.command(id, async (given) => {
      const sessionId = await chooseSession(context, given, `The session to ${verb}`, fits);
      return sessionId === undefined ? undefined : driven(context, method, { ...params(given), sessionId });
    });
  drive("abey.step", "step", agents.step, isOpen);
  drive("abey.run", "run", agents.run, isOpen);
  drive("abey.resume", "resume", agents.resume, isOpen);
  drive("abey.cancel", "cancel", agents.cancel, isOpen);
  context.command("abey.pause", (given) => pause(context, given));
  context.command("abey.send", (given) => send(context, given, "turn"));
  context.command("abey.interrupt", (given) => send(context, given, "interrupt"));
  context.command("abey.stop", (given) => stop(context, given));
}

/** Says what came of it where that is not to be seen. While it lasts the session's row shows it, and the badge stays. */
async function driven<P>(context: Context, method: Method<P, Answer>, asked: P): Promise<Answer> {
  const answer = await context.daemon.request(method, asked);
  context.sessions.saw(answer.session);
  say(answer);
  return answer;
}

function say({ outcome, interrupted, applied, session }: Answer): void {
  const waiting = session.pending.filter((call) => call.kind !== "running");
  if (interrupted) {
    tell("the daemon went in mid-step; Step or Run goes on");
  } else if (session.lastError && outcome !== undefined && session.state === "userTurn") {
    tell(session.lastError.message);
  } else if (outcome === "waiting" && waiting.length > 0) {
    vscode.window.setStatusBarMessage(
      `Abey: ${waiting.length === 1 ? "a call waits" : `${waiting.length} calls wait`} for you`,
      5000,
    );
  } else if (outcome === "waiting" || outcome === "paused") {
    tell(outcome === "paused" ? "the session is paused; Resume goes on" : "the session waits for something else");
  } else if (applied === false) {
    tell("there was nothing to cancel");
  }
}

async function pause(context: Context, given: unknown): Promise<unknown> {
  const sessionId = await chooseSession(
    context,
    given,
    "The session to pause",
    (session) => isOpen(session) && !session.paused,
  );
  if (sessionId === undefined) {
    return undefined;
  }
  const session = await context.daemon.request(agents.pause, { ...params(given), sessionId });
  context.sessions.saw(session);
  return session;
}

async function send(context: Context, given: unknown, delivery: "turn" | "interrupt"): Promise<unknown> {
  const sessionId = await chooseSession(context, given, "The session to send something to", isOpen);
  if (sessionId === undefined) {
    return undefined;
  }
  const own = params(given) as Partial<SendParams>;
  const prompt = own.prompt ?? (own.parts === undefined ? await askPrompt("What to send") : undefined);
  if (prompt === undefined && own.parts === undefined) {
    return undefined;
  }
  const said = prompt === undefined ? {} : { prompt };
  const asked = { delivery, run: "turn", wait: false, inputId: randomUUID(), ...own, ...said, sessionId } as const;
  const answer = await context.daemon.request(agents.send, asked);
  context.sessions.saw(answer.session);
  return answer;
}

/** Nothing brings it back: the one question that is modal, and its button is no default. */
async function stop(context: Context, given: unknown): Promise<unknown> {
  const sessionId = await chooseSession(context, given, "The session to close for good", isOpen);
  if (sessionId === undefined) {
    return undefined;
  }
  if (record(given)["confirmed"] !== true) {
    const title = context.sessions.get(sessionId)?.title ?? sessionId;
    const detail = "It ends what runs, closes its calls, and takes nothing more. What happened stays to be read.";
    const close = { title: "Close for Good" };
    const later = { title: "Keep", isCloseAffordance: true };
    const message = `Close “${escapeMessage(title)}” for good?`;
    if ((await vscode.window.showWarningMessage(message, { modal: true, detail }, later, close)) !== close) {
      return undefined;
    }
  }
  return driven(context, agents.stop, { sessionId });
}

export function askPrompt(title: string): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title,
    ignoreFocusOut: true,
    validateInput: (value) => (value.trim() === "" ? "Say something, or Escape" : undefined),
  });
}

function isOpen(session: Session): boolean {
  return session.state !== "stopped";
}

/** The params that a caller gave as an object; a row is none. */
function params(given: unknown): object {
  const known = record(given);
  return text(known, "sessionId") === undefined || known["kind"] === "session" ? {} : known;
}

function tell(message: string): void {
  void vscode.window.showInformationMessage(escapeMessage(`Abey: ${message}`));
}
