// Every command, `abey.<verb>`; all of them take an argument in place of what they would ask.
import type { Context } from "../context";
import type { LastingDaemon } from "../core/lasting";
import { registerAgents } from "./agents";
import { registerAnswering } from "./answering";
import { registerDriving } from "./driving";
import { registerMachine } from "./machine";
import { Pages } from "./pages";
import { registerPolicy } from "./policy";
import { registerSessions } from "./sessions";
import { registerStarting } from "./starting";

export function registerCommands(context: Context, daemon: LastingDaemon): void {
  const pages = new Pages(context);
  registerStarting(context);
  registerDriving(context);
  registerAnswering(context);
  registerSessions(context);
  registerAgents(context);
  registerPolicy(context, pages);
  registerMachine(context, daemon, pages);
}
