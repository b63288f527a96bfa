// The port to the daemon: all that the rest of the extension knows of it.
import type { AgentsEvent, ConfigChanged, Method, Overflow, Summary } from "../protocol";

export interface Disposable {
  dispose(): void;
}

/**
 * `idle`: nobody has needed one yet. `missing`: there is no program to start. `lost`: it went, and we try again; then
 * `again` of `connecting` says why.
 */
export type DaemonState =
  | { readonly kind: "idle" }
  | { readonly kind: "missing" }
  | { readonly kind: "connecting"; readonly again?: string }
  | { readonly kind: "connected"; readonly build: string; readonly stateDir: string }
  | { readonly kind: "lost"; readonly why: string; readonly retryInMs: number };

export interface Daemon {
  readonly state: DaemonState;
  /** The methods of the handshake; empty while there was none. */
  readonly methods: ReadonlySet<string>;
  /**
   * Connects first where that has not happened. A request whose connection broke is asked again on the next one, an
   * effect under the same `idempotencyKey`; its answer then may say `replayed` or `interrupted`. Fails with an
   * `AbeyError`.
   */
  request<P, R>(method: Method<P, R>, params: P): Promise<R>;
  /** As a plain language client: `workspace/executeCommand`, with the result of the command. */
  execute(command: string, argument: unknown): Promise<unknown>;
  onSummary(listener: (summary: Summary) => void): Disposable;
  /** Events of the sessions that somebody follows: see following.ts. */
  onEvent(listener: (event: AgentsEvent) => void): Disposable;
  onOverflow(listener: (overflow: Overflow) => void): Disposable;
  onConfigChanged(listener: (changed: ConfigChanged) => void): Disposable;
  onState(listener: (state: DaemonState) => void): Disposable;
}

/** What the daemon answered, or `daemon/missing` and `daemon/lost` where none did. `kind` is that of `data`. */
export class AbeyError extends Error {
  constructor(
    readonly code: number,
    readonly kind: string,
    message: string,
    readonly data: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = "AbeyError";
  }
}
