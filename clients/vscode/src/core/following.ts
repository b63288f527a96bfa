// Who follows a session hears all of it: attached anew after a break and after an overflow, from the last event heard.
import { agents, type AgentsEvent, type AttachParams, type AttachResult, type Overflow } from "../protocol";
import type { Daemon, Disposable } from "./daemon";

export interface Follower {
  /**
   * The answer of `agents/attach`: the first one and each later one. With a `snapshot` all that was known is void; with a
   * `replay` it goes on, and `session` is as it is now. Deltas that came before are void in both cases.
   */
  attached(result: AttachResult): void;
  /** Events in order, each numbered one once; deltas too. */
  event(event: AgentsEvent): void;
  /** It cannot be followed any more (`session/unknown`, `session/damaged`), or not now. */
  failed(problem: unknown): void;
}

interface Following {
  readonly sessionId: string;
  readonly follower: Follower;
  /** The last event that was heard; none yet, or none that counts. */
  seq: number | undefined;
  /** Which attach counts; what an earlier one answers does not. */
  attempt: number;
  /** Events that came before the answer of the attach that is open. */
  early: AgentsEvent[] | undefined;
}

export class Followings {
  private readonly all = new Set<Following>();
  private readonly listening: readonly Disposable[];

  constructor(private readonly daemon: Daemon) {
    this.listening = [
      daemon.onEvent((event) => this.heard(event)),
      daemon.onOverflow((overflow) => this.overflowed(overflow)),
      daemon.onState((state) => state.kind === "connected" && this.attachAll(() => true)),
    ];
  }

  follow(sessionId: string, follower: Follower): Disposable {
    const following: Following = { sessionId, follower, seq: undefined, attempt: 0, early: undefined };
    this.all.add(following);
    void this.attach(following);
    return { dispose: () => this.leave(following) };
  }

  dispose(): void {
    this.listening.forEach((listener) => listener.dispose());
    this.all.clear();
  }

  private leave(following: Following): void {
    this.all.delete(following);
    const shared = [...this.all].some((other) => other.sessionId === following.sessionId);
    if (!shared && this.daemon.state.kind === "connected") {
      // Nobody waits for this; on a connection that is gone it has happened already
      this.daemon.request(agents.detach, { sessionId: following.sessionId }).catch(() => undefined);
    }
  }

  private attachAll(which: (following: Following) => boolean): void {
    [...this.all].filter(which).forEach((following) => void this.attach(following));
  }

  private async attach(following: Following): Promise<void> {
    const attempt = ++following.attempt;
    following.early = [];
    const params: AttachParams = { sessionId: following.sessionId, deltas: true };
    try {
      const after = following.seq === undefined ? {} : { after: following.seq };
      const result = await this.daemon.request(agents.attach, { ...params, ...after });
      if (attempt === following.attempt && this.all.has(following)) {
        this.attached(following, result);
      }
    } catch (problem) {
      if (attempt === following.attempt && this.all.has(following)) {
        following.early = undefined;
        following.follower.failed(problem);
      }
    }
  }

  private attached(following: Following, result: AttachResult): void {
    const early = following.early ?? [];
    following.early = undefined;
    following.seq = result.seq;
    following.follower.attached(result);
    early.forEach((event) => this.tell(following, event));
  }

  private heard(event: AgentsEvent): void {
    for (const following of this.all) {
      if (following.sessionId !== event.sessionId) {
        continue;
      }
      if (following.early === undefined) {
        this.tell(following, event);
      } else {
        following.early.push(event);
      }
    }
  }

  private tell(following: Following, event: AgentsEvent): void {
    if (event.seq !== undefined) {
      if (following.seq !== undefined && event.seq <= following.seq) {
        return;
      }
      following.seq = event.seq;
    }
    following.follower.event(event);
  }

  private overflowed({ sessionId, resumeAfter }: Overflow): void {
    const concerned = [...this.all].filter((following) => following.sessionId === sessionId);
    // 0: the session was loaded anew, so that what is known may not hold
    concerned.forEach((following) => (following.seq = resumeAfter === 0 ? undefined : following.seq));
    concerned.forEach((following) => void this.attach(following));
  }
}
