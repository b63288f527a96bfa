// A daemon without a process, for what needs no more of one than answers.
import type { AgentsEvent, ConfigChanged, Method, Overflow, Summary } from "../../src/protocol";
import { AbeyError, type Daemon, type DaemonState } from "../../src/core/daemon";
import { Emitter } from "../../src/core/emitter";

type Answers = Readonly<Record<string, (params: never) => unknown>>;

export class FakeDaemon implements Daemon {
  state: DaemonState = { kind: "connected", build: "0", stateDir: "/state" };
  readonly methods: ReadonlySet<string>;
  readonly asked: { readonly method: string; readonly params: unknown }[] = [];
  readonly summary = new Emitter<Summary>();
  readonly event = new Emitter<AgentsEvent>();
  readonly overflow = new Emitter<Overflow>();
  readonly config = new Emitter<ConfigChanged>();
  readonly changed = new Emitter<DaemonState>();
  readonly onSummary = this.summary.on;
  readonly onEvent = this.event.on;
  readonly onOverflow = this.overflow.on;
  readonly onConfigChanged = this.config.on;
  readonly onState = this.changed.on;

  /** `answers` by method; one that is not there is `method-not-found`. */
  constructor(private readonly answers: Answers) {
    this.methods = new Set(Object.keys(answers));
  }

  async request<P, R>(method: Method<P, R>, params: P): Promise<R> {
    this.asked.push({ method: method.name, params });
    const answer = this.answers[method.name];
    if (answer === undefined) {
      throw new AbeyError(-32601, "method-not-found", `no method ${method.name}`);
    }
    return answer(params as never) as R;
  }

  execute(): Promise<unknown> {
    return Promise.reject(new AbeyError(-32601, "method-not-found", "no commands"));
  }
}
