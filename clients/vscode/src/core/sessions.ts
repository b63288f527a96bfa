// All sessions, and the calls that wait in them: read once a connection, then whatever a summary says has changed.
import { agents, type Pending, type Session, type Summary } from "../protocol";
import { AbeyError, type Daemon, type Disposable } from "./daemon";
import { Emitter } from "./emitter";

const readAtOnce = 4;
const pageSize = 200;

export class Sessions {
  private readonly known = new Map<string, Session>();
  private readonly summaries = new Map<string, Summary>();
  private readonly stale = new Set<string>();
  private readonly changed = new Emitter<void>();
  private readonly listening: readonly Disposable[];
  private reading = 0;
  private more: string | undefined;
  private loading: Promise<void> | undefined;
  private disposed = false;

  /** `report` hears what went wrong in the background. */
  constructor(
    private readonly daemon: Daemon,
    private readonly report: (problem: unknown) => void,
  ) {
    this.listening = [
      daemon.onSummary((summary) => this.told(summary)),
      daemon.onState((state) => state.kind === "connected" && void this.load()),
    ];
  }

  /** Something of what is below is another. */
  readonly onChange = this.changed.on;

  /** Newest first. */
  all(): readonly Session[] {
    return [...this.known.values()].sort((a, b) =>
      a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0,
    );
  }

  get(sessionId: string): Session | undefined {
    return this.known.get(sessionId);
  }

  summary(sessionId: string): Summary | undefined {
    return this.summaries.get(sessionId);
  }

  /** The calls that wait for somebody, oldest first. */
  waiting(): readonly Pending[] {
    return [...this.known.values()]
      .flatMap((session) => session.pending)
      .filter((call) => call.kind !== "running")
      .sort((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0));
  }

  call(token: string): Pending | undefined {
    return this.waiting().find((call) => call.token === token);
  }

  /** How many calls wait, as the summaries say: never older than what the daemon last told. */
  get waitingCount(): number {
    return [...this.summaries.values()].reduce((sum, summary) => sum + summary.pendingCount, 0);
  }

  get running(): boolean {
    return [...this.summaries.values()].some((summary) => summary.activity !== "idle");
  }

  get hasMore(): boolean {
    return this.more !== undefined;
  }

  /** What an answer of the daemon has shown; the newer of it and what is known counts. */
  saw(session: Session): void {
    const before = this.known.get(session.sessionId);
    if (before === undefined || before.createdAt !== session.createdAt || before.revision <= session.revision) {
      this.known.set(session.sessionId, session);
      this.changed.fire();
    }
  }

  /** The next page of older sessions. */
  async loadMore(): Promise<void> {
    if (this.more !== undefined) {
      await this.page(this.more);
      this.changed.fire();
    }
  }

  /** Reads everything again; calls while it reads join it. */
  load(): Promise<void> {
    this.loading ??= this.read()
      .catch((problem: unknown) => this.failed(problem))
      .finally(() => (this.loading = undefined));
    return this.loading;
  }

  dispose(): void {
    this.disposed = true;
    this.listening.forEach((listener) => listener.dispose());
  }

  /** What nobody waits for any more can fail as it likes. */
  private failed(problem: unknown): void {
    if (!this.disposed) {
      this.report(problem);
    }
  }

  private async read(): Promise<void> {
    const { summaries = [] } = await this.daemon.request(agents.attach, { sessionId: "*" });
    this.summaries.clear();
    this.known.clear();
    summaries.forEach((summary) => this.summaries.set(summary.sessionId, summary));
    await this.page(undefined);
    summaries
      .filter((summary) => summary.pendingCount > 0 && !this.known.has(summary.sessionId))
      .forEach((summary) => this.stale.add(summary.sessionId));
    this.refresh();
    this.changed.fire();
  }

  private async page(cursor: string | undefined): Promise<void> {
    const from = cursor === undefined ? {} : { cursor };
    const page = await this.daemon.request(agents.sessions, { ...from, limit: pageSize });
    page.items.forEach((session) => this.known.set(session.sessionId, session));
    this.more = page.nextCursor;
  }

  private told(summary: Summary): void {
    if (summary.deleted) {
      this.summaries.delete(summary.sessionId);
      this.known.delete(summary.sessionId);
      this.stale.delete(summary.sessionId);
    } else {
      this.summaries.set(summary.sessionId, summary);
      this.stale.add(summary.sessionId);
      this.refresh();
    }
    this.changed.fire();
  }

  private refresh(): void {
    for (const sessionId of this.stale) {
      if (this.reading >= readAtOnce) {
        return;
      }
      this.stale.delete(sessionId);
      this.reading += 1;
      void this.readOne(sessionId);
    }
  }

  private async readOne(sessionId: string): Promise<void> {
    try {
      const { session } = await this.daemon.request(agents.get, { sessionId });
      this.saw(session);
    } catch (problem) {
      if (problem instanceof AbeyError && problem.kind === "session/unknown") {
        this.known.delete(sessionId);
        this.changed.fire();
      } else {
        this.failed(problem);
      }
    } finally {
      this.reading -= 1;
      this.refresh();
    }
  }
}
