// What a command was given: a row of a tree, params of a method, an id, the document of a session; or nothing.
import { basename } from "node:path";
import type { AgentListing, Pending } from "../protocol";

type Known = Readonly<Record<string, unknown>>;

export function record(given: unknown): Known {
  return typeof given === "object" && given !== null ? (given as Known) : {};
}

export function text(given: unknown, name: string): string | undefined {
  const value = record(given)[name];
  return typeof value === "string" ? value : undefined;
}

/** The id of a session: itself, of an object that has one, or of the document of a session. */
export function sessionIdOf(given: unknown): string | undefined {
  if (typeof given === "string") {
    const [, id] = /^(.+)\.abey\.md$/.exec(basename(given)) ?? [];
    return id ?? given;
  }
  return text(given, "sessionId");
}

/** The token of a call: itself, of an object that has one, or of a row. */
export function tokenOf(given: unknown): string | undefined {
  return typeof given === "string" ? given : (text(given, "token") ?? callOf(given)?.token);
}

/** The call as a row has shown it. */
export function callOf(given: unknown): Pending | undefined {
  const call = record(given)["call"];
  return text(call, "token") === undefined ? undefined : (call as Pending);
}

/** The agent of a row of *Agents*, or the listing itself. */
export function agentOf(given: unknown): AgentListing | undefined {
  const agent = text(given, "slug") === undefined ? record(given)["agent"] : given;
  return text(agent, "slug") === undefined ? undefined : (agent as AgentListing);
}
