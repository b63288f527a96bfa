// What becomes of a call while somebody looks at it.
import type { AttachResult, Pending, Resolution, Session } from "../protocol";
import { whoAnswered } from "./calls";
import { AbeyError, type Daemon, type Disposable } from "./daemon";
import type { Follower, Followings } from "./following";
import { errorText } from "./wording";

export interface Watcher {
  /** It is to be looked at again: what would run is another. */
  changed(): void;
  /** Once; by whom, in a line for people. Nothing comes after it. */
  answered(text: string): void;
  /** It cannot be told at the moment. */
  failed(problem: unknown): void;
}

export function watch(daemon: Daemon, followings: Followings, pending: Pending, watcher: Watcher): Disposable {
  const watching = new Watching(daemon, pending, watcher);
  const following = followings.follow(pending.sessionId, watching);
  return {
    dispose: () => {
      watching.over = true;
      following.dispose();
    },
  };
}

class Watching implements Follower {
  over = false;

  constructor(
    private readonly daemon: Daemon,
    private readonly pending: Pending,
    private readonly watcher: Watcher,
  ) {}

  attached({ session, snapshot }: AttachResult): void {
    const now = session ?? snapshot?.session;
    if (now !== undefined) {
      this.look(now);
    }
  }

  event({ event }: { readonly event: Readonly<Record<string, unknown>> }): void {
    const told = event as { readonly type: string; readonly pending?: Pending; readonly resolution?: Resolution; readonly session?: Session };
    if (told.type === "pending/resolved" || told.type === "pending/expired") {
      if (told.pending?.token === this.pending.token) {
        this.end(told.resolution?.text ?? "expired");
      }
    } else if (told.session !== undefined) {
      this.look(told.session);
    }
  }

  failed(problem: unknown): void {
    if (problem instanceof AbeyError && problem.kind === "session/unknown") {
      this.end(errorText(problem));
    } else if (!this.over) {
      this.watcher.failed(problem);
    }
  }

  private look(session: Session): void {
    const now = session.pending.find((one) => one.token === this.pending.token);
    if (now === undefined) {
      void this.ask();
    } else if (now.argumentsHash !== this.pending.argumentsHash && !this.over) {
      this.watcher.changed();
    }
  }

  /** It was answered before we listened. */
  private async ask(): Promise<void> {
    if (this.over) {
      return;
    }
    try {
      this.end(await whoAnswered(this.daemon, this.pending.sessionId, this.pending.token));
    } catch (problem) {
      this.failed(problem);
    }
  }

  private end(text: string): void {
    if (!this.over) {
      this.over = true;
      this.watcher.answered(text);
    }
  }
}
