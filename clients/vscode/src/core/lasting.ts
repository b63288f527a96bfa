// A daemon that lasts: connected on demand, again without limit when it went, and what was open is asked again.
import { randomUUID } from "node:crypto";
import { agents, type AgentsEvent, type ConfigChanged, type Method, type Overflow, type Summary } from "../protocol";
import { AbeyError, type Daemon, type DaemonState } from "./daemon";
import { Emitter } from "./emitter";
import { asError, LinkLost, type Dial, type Link, type Told } from "./link";

export interface Pace {
  readonly firstMs: number;
  readonly lastMs: number;
  /** A connection that lasted so long was a good one: the next pause is the first again. */
  readonly goodMs: number;
  /** A request waits no longer for a connection. */
  readonly patienceMs: number;
}

export interface Asked {
  readonly method: string;
  readonly params: unknown;
}

const usual: Pace = { firstMs: 200, lastMs: 10_000, goodMs: 5_000, patienceMs: 60_000 };

/** Nothing was done (`draining`), or nobody can tell: with the same key, or for what has no effect, it is asked again. */
const askAgain = new Set(["daemon/gone", "daemon/draining"]);

export class LastingDaemon implements Daemon, Told {
  private current: DaemonState = { kind: "idle" };
  private link: Link | undefined;
  private connecting: Promise<Link> | undefined;
  private pauseMs: number;
  private hurry: (() => void) | undefined;
  /** Why there is no connection any more, until there is one again. */
  private lostBy: string | undefined;
  private disposed = false;
  private readonly summaries = new Emitter<Summary>();
  private readonly events = new Emitter<AgentsEvent>();
  private readonly overflows = new Emitter<Overflow>();
  private readonly changes = new Emitter<ConfigChanged>();
  private readonly states = new Emitter<DaemonState>();
  private readonly done = new Emitter<Asked>();

  constructor(
    private readonly dial: Dial,
    private readonly say: (text: string) => void,
    private readonly pace: Pace = usual,
  ) {
    this.pauseMs = pace.firstMs;
  }

  readonly onSummary = this.summaries.on;
  readonly onEvent = this.events.on;
  readonly onOverflow = this.overflows.on;
  readonly onConfigChanged = this.changes.on;
  readonly onState = this.states.on;
  /** What was asked, once it was done. */
  readonly onDone = this.done.on;

  readonly summary = (summary: Summary): void => this.summaries.fire(summary);
  readonly event = (event: AgentsEvent): void => this.events.fire(event);
  readonly overflow = (overflow: Overflow): void => this.overflows.fire(overflow);
  readonly configChanged = (changed: ConfigChanged): void => this.changes.fire(changed);

  get state(): DaemonState {
    return this.current;
  }

  get methods(): ReadonlySet<string> {
    return new Set(this.link?.methods);
  }

  async request<P, R>(method: Method<P, R>, params: P): Promise<R> {
    return (await this.ask(method.name, withKey(method, params), method.name !== agents.shutdown.name)) as R;
  }

  execute(command: string, argument: unknown): Promise<unknown> {
    // With a token the daemon tells how it goes to nobody but who asked, which is what the panel is for
    return this.ask("workspace/executeCommand", { command, arguments: [argument], workDoneToken: randomUUID() }, false);
  }

  /** Connects where nothing is connected: also after `missing`, and at once where a pause would go on. */
  async connect(): Promise<void> {
    this.hurry?.();
    await this.linked();
  }

  /** Ends the connection, so that the next one begins anew: for what is said in the handshake alone. */
  async reconnect(): Promise<void> {
    await this.link?.close();
    await this.connect();
  }

  /** Resolved once the connection that there is has ended. */
  async ended(): Promise<void> {
    await this.link?.closed;
  }

  async dispose(): Promise<void> {
    this.disposed = true;
    this.hurry?.();
    await this.link?.close();
  }

  private async ask(method: string, params: unknown, repeat: boolean): Promise<unknown> {
    const until = Date.now() + this.pace.patienceMs;
    for (;;) {
      const link = await this.within(until);
      try {
        const answer = await link.request(method, params);
        this.done.fire({ method, params });
        return answer;
      } catch (problem) {
        const error = asError(problem);
        const gone = error instanceof LinkLost || (error instanceof AbeyError && askAgain.has(error.kind));
        if (!gone || !repeat || this.disposed) {
          throw error instanceof LinkLost ? lost(error.message) : error;
        }
        this.say(`${method} is asked again: ${error.message}`);
        await link.closed;
      }
    }
  }

  /** The connection, if there is one in time. */
  private async within(until: number): Promise<Link> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(lost(this.unreached())), Math.max(0, until - Date.now()));
    });
    try {
      return await Promise.race([this.linked(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  private unreached(): string {
    const why = this.lostBy === undefined ? "" : `: ${this.lostBy}`;
    return `the daemon cannot be reached${why}; what it said itself is in the log (Abey: Show Log)`;
  }

  private linked(): Promise<Link> {
    if (this.link !== undefined) {
      return Promise.resolve(this.link);
    }
    return this.connecting ?? this.begin(() => this.untilConnected());
  }

  private begin(connect: () => Promise<Link>): Promise<Link> {
    const connecting = connect().finally(() => {
      if (this.connecting === connecting) {
        this.connecting = undefined;
      }
    });
    this.connecting = connecting;
    return connecting;
  }

  /** Ends without a connection only where there is no program to start, or nobody needs one any more. */
  private async untilConnected(): Promise<Link> {
    for (;;) {
      if (this.disposed) {
        throw lost("the extension has ended");
      }
      this.become({ kind: "connecting", ...(this.lostBy !== undefined && { again: this.lostBy }) });
      try {
        return this.connected(await this.dial(this));
      } catch (problem) {
        const error = asError(problem);
        if (error instanceof AbeyError && error.kind === "daemon/missing") {
          this.lostBy = undefined;
          this.become({ kind: "missing" });
          throw error;
        }
        await this.pause(error.message);
      }
    }
  }

  private connected(link: Link): Link {
    const since = Date.now();
    this.link = link;
    this.lostBy = undefined;
    void link.closed.then((why) => {
      this.link = undefined;
      if (Date.now() - since >= this.pace.goodMs) {
        this.pauseMs = this.pace.firstMs;
      }
      if (!this.disposed) {
        // Who waits for it hears of it by its request
        this.begin(() => this.pause(why).then(() => this.untilConnected())).catch(() => undefined);
      }
    });
    this.become({ kind: "connected", build: link.build, stateDir: link.stateDir });
    return link;
  }

  private async pause(why: string): Promise<void> {
    const retryInMs = this.pauseMs;
    this.pauseMs = Math.min(this.pauseMs * 2, this.pace.lastMs);
    this.lostBy = why;
    this.become({ kind: "lost", why, retryInMs });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, retryInMs);
      this.hurry = (): void => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.hurry = undefined;
  }

  private become(state: DaemonState): void {
    this.current = state;
    this.say(state.kind === "lost" ? `lost: ${state.why}; again in ${state.retryInMs} ms` : state.kind);
    this.states.fire(state);
  }
}

/** An effect without a key gets one, so that it can be asked again; a rule has one only in its session. */
function withKey<P, R>(method: Method<P, R>, params: P): unknown {
  const given = { ...(params as object) } as Readonly<Record<string, unknown>>;
  const takesKey = method.effect && (method.name !== agents.rules.name || given["sessionId"] !== undefined);
  return takesKey && given["idempotencyKey"] === undefined ? { ...given, idempotencyKey: randomUUID() } : given;
}

function lost(message: string): AbeyError {
  return new AbeyError(0, "daemon/lost", message);
}
