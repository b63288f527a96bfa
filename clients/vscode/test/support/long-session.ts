// A session of many turns, as a daemon would tell it: read page by page, and going on when it is told to.
import type { AgentsEvent, AttachResult, CompleteResult, EventsResult, Item, SendResult, Session, TranscriptParams, TranscriptResult } from "../../src/protocol";
import { AbeyError } from "../../src/core/daemon";
import { FakeDaemon } from "./fake-daemon";

export const sessionId = "longsession";
const at = "2026-11-29T18:21:14.510Z";

const answer = (n: number): string =>
  `Turn **${n}** is done, in \`module_${n}.py\`:\n\n- the first point of it\n- the second point, which is longer and goes on for a while\n\n` +
  (n % 3 === 0 ? "```python\nfor i in range(3):\n    print(i)\n```\n\n" : "") +
  `More on [the page](https://example.org/${n}) of turn ${n}.`;

/** Five items a turn: input, thinking, answer, tool call, answer. */
export function turns(count: number): Item[] {
  return Array.from({ length: count }, (_, n) => turn(n + 1)).flat();
}

function turn(n: number): Item[] {
  const revision = n * 10;
  const common = { turnId: `turn${n}`, at };
  const startedAt = "2026-11-29T18:21:14.520Z";
  const call = {
    callId: `call${n}`,
    tool: "shell",
    arguments: { command: `grep -rn "part ${n}" src | head -5` },
    disposition: "runSync" as const,
    state: "completed",
    output: `src/a.py:${n}: part ${n}\n`.repeat(3),
    startedAt,
    endedAt: "2026-11-29T18:21:14.760Z",
  };
  return [
    { itemId: `${revision}.0`, revision, ...common, kind: "input", parts: [{ kind: "text", text: `What about part ${n}?` }] },
    { itemId: `step${n}a.0`, revision: revision + 2, ...common, kind: "thinking", text: `Let me think about part ${n}.` },
    { itemId: `step${n}a.1`, revision: revision + 2, ...common, kind: "answer", text: `I look for part ${n}.` },
    { itemId: `step${n}a.2`, revision: revision + 2, ...common, kind: "toolCall", call },
    { itemId: `step${n}b.0`, revision: revision + 6, ...common, kind: "answer", text: answer(n) },
  ];
}

export function session(over: Partial<Session> = {}): Session {
  return {
    sessionId,
    agent: "research",
    title: "A long session",
    cwd: "/home/ada/project",
    state: "completed",
    activity: "idle",
    revision: 10_000,
    turn: { turnId: "turn", n: 1, startedAt: at, endedAt: at, end: "answered" },
    pending: [],
    queued: [],
    drivenBy: "run",
    executionMode: "asynchronous",
    usage: { inputTokens: 123_456, outputTokens: 7890, contextTokens: 45_678 },
    createdAt: at,
    updatedAt: at,
    children: [],
    configHash: "0",
    configState: "ok",
    ...over,
  };
}

export class LongSession {
  readonly daemon: FakeDaemon;
  private seq = 100;
  /** What comes of the next answer to a call. */
  completing: CompleteResult | Error | undefined;
  /** How inputs of others that wait begin. */
  queuedTexts: Readonly<Record<string, string>> = {};
  /** Where the batches of calls had results, by their ids. */
  results: Readonly<Record<string, number>> = {};
  /** The events before now. */
  past: readonly AgentsEvent["event"][] = [];
  /** No input is taken. */
  refusing = false;

  constructor(
    readonly items: Item[],
    public state: Session = session(),
  ) {
    this.daemon = new FakeDaemon({
      "agents/attach": (): AttachResult => ({ snapshot: { session: this.state, items: this.items.slice(-50) }, replay: [], seq: this.seq }),
      "agents/detach": () => ({}),
      "agents/events": () => this.events(),
      "agents/output": () => ({ data: "", encoding: "utf-8", size: 0 }),
      "agents/transcript": (params: TranscriptParams) => this.page(params),
      "agents/complete": () => this.complete(),
      "agents/send": ({ inputId }: { inputId: string }) => this.take(inputId),
      ...Object.fromEntries(["step", "run", "pause", "resume", "cancel", "continue", "fork", "rewind"].map((verb) => [`agents/${verb}`, () => ({ session: this.state })])),
    });
  }

  /** Tells an event to who follows; live ones have no number. */
  tell(event: AgentsEvent["event"], live = false): void {
    const seq = live ? {} : { seq: ++this.seq };
    this.daemon.event.fire({ sessionId, ...seq, revision: 10_001, turnId: "now", at, event });
  }

  private events(): EventsResult {
    const events = this.past.map((event, n) => ({ sessionId, seq: n + 1, revision: 1, at, event }));
    return { events, nextSeq: this.seq + 1, hasMore: false, status: "ok" };
  }

  private take(inputId: string): SendResult {
    if (this.refusing) {
      throw new AbeyError(-31011, "overloaded", "256 inputs wait");
    }
    return { inputId, position: 0, session: this.state };
  }

  private complete(): CompleteResult {
    if (this.completing instanceof Error) {
      throw this.completing;
    }
    const resolution = { kind: "approve", by: "ada", at, text: "approved by ada" };
    return this.completing ?? { applied: true, resolution, turnComplete: true, session: this.state };
  }

  private page({ before, limit = 200 }: TranscriptParams): TranscriptResult {
    const end = before === undefined ? this.items.length : this.items.findIndex((item) => item.itemId === before);
    const from = Math.max(0, end - limit);
    const items = this.items.slice(from, end);
    const shown = Object.entries(this.results).filter(([callId]) => items.some(({ call }) => call?.callId === callId));
    return { items, hasMore: from > 0, turns: [], queuedTexts: this.queuedTexts, resultsAt: Object.fromEntries(shown) };
  }
}
