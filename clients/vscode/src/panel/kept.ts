// Where one was in a session, and what was written and not sent, by session: for this workspace.
import type { Memento } from "vscode";
import type { PageState } from "../core/page";

const key = "abey.panels";
/** Of so many sessions, those that were looked at last. */
const most = 50;

export class Kept {
  constructor(private readonly memento: Memento) {}

  of(sessionId: string): PageState | undefined {
    return this.all[sessionId];
  }

  keep(sessionId: string, state: PageState): void {
    const states = Object.entries({ ...this.all, [sessionId]: state }).sort(([, a], [, b]) => b.at - a.at);
    void this.memento.update(key, Object.fromEntries(states.slice(0, most)));
  }

  /** Who opens a session anew sees its end; what was written is there still. */
  forgetPlace(sessionId: string): void {
    const state = this.of(sessionId);
    if (state?.anchor !== undefined) {
      const { anchor: _place, ...rest } = state;
      this.keep(sessionId, rest);
    }
  }

  private get all(): Readonly<Record<string, PageState>> {
    return this.memento.get<Readonly<Record<string, PageState>>>(key, {});
  }
}
