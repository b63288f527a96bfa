// One connection to a daemon, for as long as it lasts.
import type { AgentsEvent, ConfigChanged, Overflow, Summary } from "../protocol";
import { AbeyError } from "./daemon";

export interface Link {
  readonly methods: readonly string[];
  readonly build: string;
  readonly stateDir: string;
  /** Fails with an `AbeyError`; with `LinkLost` where the connection ended before the answer came. */
  request(method: string, params: unknown): Promise<unknown>;
  /** Resolved, with the reason, once the connection has ended, by whomever. */
  readonly closed: Promise<string>;
  close(): Promise<void>;
}

/** Who hears what the daemon tells by itself. */
export interface Told {
  summary(summary: Summary): void;
  event(event: AgentsEvent): void;
  overflow(overflow: Overflow): void;
  configChanged(changed: ConfigChanged): void;
}

/** Fails with an `AbeyError`: `daemon/missing` where there is no program. */
export type Dial = (told: Told) => Promise<Link>;

export class LinkLost extends Error {}

/** Codes of vscode-jsonrpc and of LSP for a connection that is not there (any more). */
const lostCodes = new Set([-32096, -32097, -32098, -32099]);

/** What a JSON-RPC library rejected a request with, as ours. */
export function asError(problem: unknown): Error {
  if (problem instanceof AbeyError || problem instanceof LinkLost) {
    return problem;
  }
  const message = problem instanceof Error ? problem.message : String(problem);
  const code = member(problem, "code");
  if (typeof code !== "number" || lostCodes.has(code)) {
    // Streams that broke, connections that were disposed of: neither has an answer of the daemon in it
    return new LinkLost(message);
  }
  const data = member(problem, "data");
  const known = typeof data === "object" && data !== null ? (data as Readonly<Record<string, unknown>>) : {};
  return new AbeyError(code, typeof known["kind"] === "string" ? known["kind"] : String(code), message, known);
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
