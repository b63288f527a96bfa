// Which calls one notification is worth.
import type { Pending } from "../protocol";
import { cut, escapeMessage } from "./escape";
import { isInside } from "./locate";

const titleShown = 60;

export class Notices {
  private told: ReadonlySet<string> = new Set();

  /**
   * The calls to tell of now: of this window's folders, and of those that nobody was told of. What is seen in a view
   * is told, too.
   */
  next(calls: readonly Pending[], folders: readonly string[], visible: boolean): readonly Pending[] {
    const ours = calls.filter((call) => isInside(call.cwd, folders));
    const fresh = visible ? [] : ours.filter((call) => !this.told.has(call.token));
    // Only what still waits, so that this does not grow
    this.told = new Set(ours.map((call) => call.token));
    return fresh.length > 0 ? ours : [];
  }
}

/** For all that waits, without a number, which would grow old on the screen; of one call who asks for what, as a text that cannot act. */
export function noticeText(calls: readonly Pending[], title: (sessionId: string) => string): string {
  const [only, ...more] = calls;
  if (only === undefined || more.length > 0) {
    return "Abey: calls wait for you";
  }
  const asked = only.kind === "question" ? "asks something" : `waits for you (${escapeMessage(only.tool)})`;
  return `Abey: “${cut(escapeMessage(title(only.sessionId)), titleShown)}” ${asked}`;
}
