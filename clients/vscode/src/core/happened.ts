// What happened to a session and stands in no row of it: told until the next turn begins.
import type { AgentsEvent } from "../protocol";

type Event = AgentsEvent["event"];

/** So many are told, the last ones. */
const kept = 5;

export class Happened {
  private events: readonly Event[] = [];
  /** A turn has begun since everything was forgotten. */
  private begun = false;

  hear(event: Event): void {
    if (event["type"] === "turn/started") {
      this.forget();
      this.begun = true;
    } else if (isOurs(event)) {
      this.events = [...this.events, event].slice(-kept);
    }
  }

  /** The extension that ended this turn, or the session, not escaped. */
  get endedBy(): string | undefined {
    const tripped = this.events.filter(({ type }) => type === "tripwire").at(-1);
    return tripped && String(tripped["extension"]);
  }

  forget(): void {
    this.events = [];
    this.begun = false;
  }

  /** What was before all that was heard; nothing of it counts where a turn has begun since. */
  recall(before: readonly Event[]): void {
    if (!this.begun) {
      const since = this.events;
      this.forget();
      [...before, ...since].forEach((event) => this.hear(event));
    }
  }

  /** In words, not escaped. `inputs` are how inputs begin, by their ids. */
  words(inputs: ReadonlyMap<string, string>): readonly string[] {
    return this.events.filter(({ type }) => type !== "tripwire").map((event) => inWords(event, inputs));
  }
}

function isOurs({ type, to }: Event): boolean {
  return type === "tripwire" || type === "input/rejected" || type === "session/seeded" || (type === "note" && to !== undefined);
}

function inWords(event: Event, inputs: ReadonlyMap<string, string>): string {
  switch (event["type"]) {
    case "input/rejected": {
      const text = inputs.get(String(event["inputId"]));
      return `an input that waited was not taken${text === undefined ? "" : `: ${text}`}`;
    }
    case "session/seeded":
      return `what is here came from elsewhere: ${String(event["transcriptEntries"])} entries`;
    default:
      return String(event["text"]);
  }
}
