// The panel of one session, without VS Code: follows the session, and tells the page what has changed.
import type { AgentsEvent, AttachResult, Summary } from "../protocol";
import { AbeyError, type Daemon, type DaemonState, type Disposable } from "./daemon";
import { escapeText } from "./escape";
import type { Followings } from "./following";
import { Frames } from "./frames";
import type { Change } from "./changes";
import type { Frame, FromPage, Op, Receipt, RowView, SessionView } from "./page";
import { PanelActions, type Surroundings } from "./panel-actions";
import { pieceView, rowView } from "./row-view";
import { sessionView } from "./session-view";
import { Timeline } from "./timeline";
import { Transcript } from "./transcript";
import { errorText } from "./wording";

export class PanelModel {
  private readonly timeline = new Timeline();
  private readonly frames: Frames<Omit<Frame, "n">>;
  private readonly transcript: Transcript;
  private readonly actions: PanelActions;
  private readonly listening: readonly Disposable[];
  private page: "gone" | "waits" | "shown" = "gone";
  private reset = true;
  private sessionSaid = "";
  private troubleSaid = "";
  private connection = "";
  private problem = "";
  private receipts: Receipt[] = [];
  private wanted: string | undefined;
  /** The texts of inputs, or how they begin, by their ids. */
  private readonly inputs = new Map<string, string>();
  private finding = Promise.resolve();

  constructor(
    private readonly daemon: Daemon,
    followings: Followings,
    readonly sessionId: string,
    private readonly around: Surroundings,
    later?: (run: () => void) => void,
  ) {
    const problem = (what: unknown): void => this.say(() => (this.problem = what === undefined ? "" : errorText(what)));
    const reads = { changed: () => this.changed(), failed: problem };
    this.transcript = new Transcript(daemon, sessionId, this.timeline, reads, this.inputs);
    this.frames = new Frames(() => this.frame(), around.post, later);
    const told = {
      session: () => this.timeline.session,
      resultsAt: (callId: string) => this.transcript.resultsAt(callId),
      received: (receipt: Receipt) => this.say(() => this.receipts.push(receipt)),
      troubled: problem,
    };
    this.actions = new PanelActions(daemon, sessionId, around, told, this.inputs);
    this.listening = [
      daemon.onSummary((summary) => this.summary(summary)),
      daemon.onState((state) => this.say(() => (this.connection = connectionText(state)))),
      followings.follow(sessionId, {
        attached: (result) => this.attached(result),
        event: (event) => this.event(event),
        failed: (what) => void this.unfollowed(what),
      }),
    ];
    this.connection = connectionText(daemon.state);
  }

  /** Frames that were posted, and rows there are, for tests. */
  get counts(): { readonly posts: number; readonly rows: number } {
    return { posts: this.frames.count, rows: this.timeline.ids.length };
  }

  receive(message: FromPage): void {
    switch (message.kind) {
      case "ready":
        this.wanted = message.anchor;
        this.reset = true;
        this.page = "waits";
        this.frames.end();
        return this.show();
      case "painted":
        return this.frames.paint(message.n);
      case "older":
        return void this.transcript.older(message.all);
      default:
        return this.actions.receive(message);
    }
  }

  /** The page is gone, or is not shown: it comes back with `ready`. */
  hidden(): void {
    this.page = "gone";
    this.frames.end();
  }

  dispose(): void {
    this.hidden();
    this.listening.forEach((listener) => listener.dispose());
  }

  /** A page that waits is shown all at once: what there is, back to the place that it was at. */
  private show(): void {
    const trouble = this.problem !== "" || ["missing", "lost"].includes(this.daemon.state.kind);
    if (this.page === "waits" && (this.timeline.session !== undefined || trouble)) {
      this.page = "shown";
      void this.find().then(() => this.page === "shown" && this.frames.begin());
    } else {
      this.frames.changed();
    }
  }

  /** The place is looked for once there is a session to look in; who asks meanwhile waits for it, too. */
  private find(): Promise<void> {
    if (this.timeline.session !== undefined) {
      const { wanted } = this;
      this.wanted = undefined;
      this.finding = this.finding.then(() => this.transcript.find(wanted));
    }
    return this.finding;
  }

  private attached(result: AttachResult): void {
    this.problem = "";
    this.timeline.attached(result);
    void this.transcript.printed();
    if (result.snapshot !== undefined) {
      void this.transcript.happened(result.seq);
    }
    void this.find().then(() => this.changed());
  }

  /** What cannot be followed can perhaps be looked at. */
  private async unfollowed(what: unknown): Promise<void> {
    this.problem = errorText(what);
    if (what instanceof AbeyError && what.kind === "session/damaged") {
      await this.transcript.look();
    }
    this.show();
  }

  private event(event: AgentsEvent): void {
    this.timeline.event(event);
    this.changed();
  }

  private summary(summary: Summary): void {
    if (summary.sessionId === this.sessionId) {
      this.say(() => (summary.deleted ? (this.problem = "the session was deleted") : this.timeline.summary(summary)));
    }
  }

  private changed(): void {
    if (this.timeline.stale) {
      this.timeline.stale = false;
      void this.transcript.newest();
    }
    void this.transcript.words(this.timeline.session?.queued.map(({ inputId }) => inputId) ?? []);
    this.show();
  }

  private say(change: () => unknown): void {
    change();
    this.show();
  }

  private frame(): Omit<Frame, "n"> | undefined {
    const { reset, receipts } = this;
    const ops = this.ops(reset);
    const session = this.sessionNow(reset);
    const trouble = [this.connection, this.problem].filter((text) => text !== "").join(" · ");
    if (!reset && ops.length === 0 && session === undefined && receipts.length === 0 && trouble === this.troubleSaid) {
      return undefined;
    }
    this.reset = false;
    this.receipts = [];
    this.troubleSaid = trouble;
    const { hasMore } = this.timeline;
    return { kind: "frame", reset, ops, hasMore, trouble, receipts, ...(session !== undefined && { session }) };
  }

  private sessionNow(always: boolean): SessionView | undefined {
    const { session, activity, happened } = this.timeline;
    if (session === undefined) {
      return undefined;
    }
    const besides = { words: happened.words(this.inputs), endedBy: happened.endedBy };
    const view = sessionView(session, activity, this.daemon.methods, this.inputs, besides);
    const said = JSON.stringify(view);
    if (said === this.sessionSaid && !always) {
      return undefined;
    }
    this.sessionSaid = said;
    this.around.titled(view.title);
    return view;
  }

  private ops(reset: boolean): readonly Op[] {
    const changes = this.timeline.take();
    return reset
      ? [{ kind: "splice", at: 0, remove: 0, rows: this.timeline.ids.flatMap((id) => this.view(id)) }]
      : changes.flatMap((change) => this.op(change));
  }

  private op(change: Change): readonly Op[] {
    switch (change.kind) {
      case "splice": {
        const { kind, at, remove, ids } = change;
        return [{ kind, at, remove, rows: ids.flatMap((id) => this.view(id)) }];
      }
      case "put":
        return this.view(change.id).map((row): Op => ({ kind: "put", row }));
      case "append": {
        const row = this.timeline.row(change.id);
        return row === undefined ? [] : [{ kind: "append", id: change.id, text: pieceView(row, change.text) }];
      }
    }
  }

  private view(id: string): readonly RowView[] {
    const row = this.timeline.row(id);
    return row === undefined ? [] : [rowView(row, this.timeline.session)];
  }
}

function connectionText(state: DaemonState): string {
  switch (state.kind) {
    case "idle":
    case "connected":
      return "";
    case "connecting":
      return state.again === undefined ? "connecting to the daemon" : goneText(state.again);
    case "missing":
      return "the daemon is not installed";
    case "lost":
      return goneText(state.why);
  }
}

function goneText(why: string): string {
  return `the daemon is gone (${escapeText(why)}); it is started again`;
}
