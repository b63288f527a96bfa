// Calls, as their sessions tell of them: which one waits, which number it has, who answered it.
import { agents, type Item, type ItemCall, type Pending } from "../protocol";
import type { Daemon } from "./daemon";

const pageSize = 200;

/** The call as it waits now, with all that the daemon says of it; undefined where it waits no more. */
export async function pendingCall(daemon: Daemon, token: string, sessionId?: string): Promise<Pending | undefined> {
  const of = sessionId === undefined ? {} : { sessionId };
  let cursor: string | undefined;
  do {
    const from = cursor === undefined ? {} : { cursor };
    const page = await daemon.request(agents.pending, { ...of, ...from, limit: pageSize });
    const found = page.items.find((one) => one.token === token);
    if (found !== undefined) {
      return found;
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return undefined;
}

/** Which call of its session it is, counted from 1 over all turns: the number in the name of its document. */
export async function numberOf(daemon: Daemon, pending: Pending): Promise<number | undefined> {
  const calls = await callsOf(daemon, pending.sessionId);
  const at = calls.map((call) => isOf(call, pending)).lastIndexOf(true);
  return at < 0 ? undefined : at + 1;
}

/** The call with that number, if it waits. */
export async function waitingAt(daemon: Daemon, sessionId: string, n: number): Promise<Pending | undefined> {
  const call = (await callsOf(daemon, sessionId))[n - 1];
  const { items } = await daemon.request(agents.pending, { sessionId });
  return call === undefined ? undefined : items.find((pending) => isOf(call, pending));
}

/** Who answered a call that waits no more, in a line for people. */
export async function whoAnswered(daemon: Daemon, sessionId: string, token: string): Promise<string> {
  for await (const items of backwards(daemon, sessionId)) {
    const call = items.find((item) => item.call?.token === token)?.call;
    if (call !== undefined) {
      return answerOf(call);
    }
  }
  return "it waits for nobody any more";
}

function answerOf({ state, decision }: ItemCall): string {
  if (decision === undefined) {
    return state;
  }
  const { by, client, at, edited } = decision;
  const how = state === "denied" ? "denied" : edited ? "approved with other arguments" : "answered";
  return `${how} by ${by}${client === undefined ? "" : ` (${client.kind})`} at ${at}`;
}

async function callsOf(daemon: Daemon, sessionId: string): Promise<readonly ItemCall[]> {
  const calls: ItemCall[] = [];
  for await (const items of backwards(daemon, sessionId)) {
    calls.unshift(...items.flatMap((item) => item.call ?? []));
  }
  return calls;
}

/** The pages of a transcript, the newest first. */
async function* backwards(daemon: Daemon, sessionId: string): AsyncGenerator<readonly Item[]> {
  let before: string | undefined;
  for (;;) {
    const from = before === undefined ? {} : { before };
    const { items, hasMore } = await daemon.request(agents.transcript, { sessionId, ...from, limit: pageSize });
    yield items;
    before = items[0]?.itemId;
    if (!hasMore || before === undefined) {
      return;
    }
  }
}

function isOf(call: ItemCall, pending: Pending): boolean {
  return call.token === undefined ? call.callId === pending.callId : call.token === pending.token;
}
