// An extension of the daemon, where the daemon of a place finds it as it finds what is installed.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Place } from "./place";

/** Asks for a yes before a command with the word `confirm` runs. */
export const confirming = `
from abey.extensions import Extension, Question


class Confirming(Extension):
    async def around(self, call, proceed):
        await proceed()
        for asked in call.answer.calls:
            if "confirm" in asked.arguments:
                call.ask(asked, Question(kind="approval", prompt="May this be pushed?"))
`;

/** Ends a turn whose answer has the word `secret`. */
export const guarding = `
from abey.extensions import Extension


class Guarding(Extension):
    async def around(self, call, proceed):
        await proceed()
        if "secret" in call.answer.text:
            call.trip("it tells a secret")
`;

/** Before a daemon is started; of `source` one class is an extension, whose name the extension has. */
export function install(place: Place, source: string): void {
  const [, type = ""] = /class (\w+)\(Extension\)/.exec(source) ?? [];
  const name = type.toLowerCase();
  const site = join(place.root, "site");
  const described = join(site, `${name}-1.0.dist-info`);
  mkdirSync(described, { recursive: true });
  writeFileSync(join(site, `${name}.py`), source);
  writeFileSync(join(described, "METADATA"), `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`);
  writeFileSync(join(described, "entry_points.txt"), `[abey.extensions]\n${name} = ${name}:${type}\n`);
  place.env["PYTHONPATH"] = site;
}
