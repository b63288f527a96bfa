// The calls that somebody looks at in this window: each as it is shown, and watched.
import type { Context } from "../context";
import type { Disposable } from "../core/daemon";
import { watch } from "../core/watching";
import { errorText } from "../core/wording";
import type { Pending } from "../protocol";

interface Look {
  readonly shown: Pending;
  readonly watching: Disposable;
  /** An answer of ours is on its way: what comes of it is told first. */
  deciding: boolean;
  /** What was told of the call in the meantime. */
  answered?: string;
}

interface Told {
  /** What would run is another; it is to be shown again. */
  changed(token: string): void;
  answered(token: string, text: string): void;
  /** It waits no more, while an answer of ours is on its way: whose counted is told by what comes back. */
  over(token: string): void;
}

export class Looked {
  private readonly looks = new Map<string, Look>();

  constructor(
    private readonly context: Context,
    private readonly told: Told,
  ) {}

  shown(token: string): Pending | undefined {
    return this.looks.get(token)?.shown;
  }

  isDeciding(token: string): boolean {
    return this.looks.get(token)?.deciding ?? false;
  }

  /** From now on the call is shown like this. */
  show(pending: Pending): void {
    if (this.shown(pending.token)?.argumentsHash !== pending.argumentsHash) {
      this.forget(pending.token);
      this.looks.set(pending.token, { shown: pending, watching: this.watched(pending), deciding: false });
    }
  }

  forget(token: string): void {
    this.looks.get(token)?.watching.dispose();
    this.looks.delete(token);
  }

  /** One answer at a time to a call that is shown. */
  async deciding(token: string, answer: (shown: Pending) => Promise<void>): Promise<void> {
    const look = this.looks.get(token);
    if (look === undefined || look.deciding) {
      return;
    }
    look.deciding = true;
    try {
      await answer(look.shown);
    } finally {
      look.deciding = false;
      if (look.answered !== undefined && this.looks.get(token) === look) {
        this.told.answered(token, look.answered);
      }
    }
  }

  dispose(): void {
    [...this.looks.keys()].forEach((token) => this.forget(token));
  }

  private watched(pending: Pending): Disposable {
    const { daemon, followings, log } = this.context;
    const { token, callId } = pending;
    return watch(daemon, followings, pending, {
      changed: () => this.told.changed(token),
      answered: (text) => {
        const look = this.looks.get(token);
        if (look?.deciding) {
          look.answered = text;
          this.told.over(token);
        } else {
          this.told.answered(token, text);
        }
      },
      failed: (problem) => log.info(`the review of ${callId} is not followed: ${errorText(problem)}`),
    });
  }
}
