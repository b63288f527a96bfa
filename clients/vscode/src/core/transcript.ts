// What of a session's timeline is read, and not told: older pages, what no event tells, what a call had printed before.
import { agents } from "../protocol";
import type { Daemon } from "./daemon";
import type { Timeline } from "./timeline";

/** Items of a page; and how many pages are read to find the place that somebody was at. */
const pageItems = 200;
const pagesBack = 100;
/** So many events back it is looked for what happened that no row shows. */
const eventsBack = 100;

interface Told {
  changed(): void;
  failed(problem: unknown): void;
}

export class Transcript {
  private reading: Promise<boolean> | undefined;
  private readonly asked = new Set<string>();

  constructor(
    private readonly daemon: Daemon,
    private readonly sessionId: string,
    private readonly timeline: Timeline,
    private readonly told: Told,
    /** How inputs that wait begin, by their ids. */
    private readonly inputs: Map<string, string>,
  ) {}

  /** The newest page again. */
  async newest(): Promise<void> {
    await this.trying(async () => {
      this.timeline.newest(await this.daemon.request(agents.transcript, { sessionId: this.sessionId, limit: pageItems }));
    });
    this.told.changed();
  }

  /** The session and its newest page, of one that cannot be followed. */
  async look(): Promise<void> {
    await this.trying(async () => {
      const { session } = await this.daemon.request(agents.get, { sessionId: this.sessionId });
      const { items } = await this.daemon.request(agents.transcript, { sessionId: this.sessionId, limit: pageItems });
      this.timeline.attached({ snapshot: { session, items }, replay: [], seq: 0 });
    });
  }

  /** The page before the first row, or all that there are. */
  async older(all: boolean): Promise<void> {
    while ((await this.page()) && all && this.timeline.hasMore) {
      // each page is shown when all are there
    }
    this.told.changed();
  }

  /** Pages back to the row `wanted`, where there is one. */
  async find(wanted: string | undefined): Promise<void> {
    let pages = 0;
    while (wanted !== undefined && this.timeline.row(wanted) === undefined && this.timeline.hasMore && pages < pagesBack) {
      pages += 1;
      if (!(await this.page())) {
        return;
      }
    }
  }

  /** What running calls have printed so far. */
  async printed(): Promise<void> {
    const calls = this.timeline.ids.flatMap((id) => this.timeline.row(id)?.item.call ?? []);
    const running = calls.filter((call) => call.state === "running");
    await Promise.all(running.map((call) => this.trying(() => this.printedBy(call.callId))));
    if (running.length > 0) {
      this.told.changed();
    }
  }

  /** What happened before the event `seq` that no row shows; of events that are not kept any more nothing is told. */
  async happened(seq: number): Promise<void> {
    await this.trying(async () => {
      const params = { sessionId: this.sessionId, after: Math.max(0, seq - eventsBack), limit: eventsBack };
      const { events } = await this.daemon.request(agents.events, params);
      this.timeline.happened.recall(events.filter((told) => (told.seq ?? 0) <= seq).map(({ event }) => event));
    });
    this.told.changed();
  }

  /** The revision at which a call, and those that were asked for with it, had results. */
  async resultsAt(callId: string): Promise<number> {
    const { ids } = this.timeline;
    const at = ids.findIndex((id) => this.timeline.row(id)?.item.call?.callId === callId);
    const before = ids.slice(at + 1).find((id) => this.timeline.row(id)?.draft === undefined);
    const params = { sessionId: this.sessionId, limit: 1, ...(before === undefined ? {} : { before }) };
    const { resultsAt = {} } = await this.daemon.request(agents.transcript, params);
    const revision = resultsAt[callId];
    if (revision === undefined) {
      throw new Error("not all of the calls that were asked for with this one have results");
    }
    return revision;
  }

  /** How those of these inputs begin that others have sent; each is asked about once. */
  async words(inputIds: readonly string[]): Promise<void> {
    const unknown = inputIds.filter((id) => !this.inputs.has(id) && !this.asked.has(id));
    if (unknown.length === 0) {
      return;
    }
    unknown.forEach((id) => this.asked.add(id));
    await this.trying(async () => {
      const { queuedTexts = {} } = await this.daemon.request(agents.transcript, { sessionId: this.sessionId, limit: 1 });
      Object.entries(queuedTexts).forEach(([id, text]) => this.inputs.has(id) || this.inputs.set(id, text));
    });
    this.told.changed();
  }

  private async printedBy(callId: string): Promise<void> {
    const { data, encoding, size } = await this.daemon.request(agents.output, { sessionId: this.sessionId, callId });
    const whole = encoding === "utf-8" && Buffer.byteLength(data) === size && !data.includes(" characters left out …]");
    this.timeline.printed(callId, encoding === "utf-8" ? data : "", whole);
  }

  /** Whoever asks while a page is read gets that page. */
  private page(): Promise<boolean> {
    this.reading ??= this.trying(() => this.readPage()).finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async readPage(): Promise<void> {
    const { oldest } = this.timeline;
    const from = oldest === undefined ? {} : { before: oldest };
    const params = { sessionId: this.sessionId, limit: pageItems, ...from };
    this.timeline.older(await this.daemon.request(agents.transcript, params));
  }

  private async trying(read: () => Promise<void>): Promise<boolean> {
    try {
      await read();
      return true;
    } catch (problem) {
      this.told.failed(problem);
      return false;
    }
  }
}
