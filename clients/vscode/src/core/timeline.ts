// The timeline of a session: what `agents/attach` answered, events, deltas and pages of the transcript, folded into rows.
import type { Activity, AgentsEvent, AttachResult, Item, Session, Summary, TranscriptResult } from "../protocol";
import { Changes, type Change } from "./changes";
import { Happened } from "./happened";
import { extend, isFinal, nothing, printedKept, progressOf, stepOf, trimmed, type Delta, type Row, type ToolProgress } from "./row";

/** So many items come with a snapshot where there are more. */
const snapshotItems = 50;

type Page = Pick<TranscriptResult, "items" | "hasMore">;

export class Timeline {
  private order: string[] = [];
  private readonly rows = new Map<string, Row>();
  private readonly calls = new Map<string, string>();
  private readonly changes = new Changes();
  readonly happened = new Happened();

  session: Session | undefined;
  /** What goes on now: no event tells, but a summary does. */
  activity: Activity = "idle";
  /** There are items before the first row. */
  hasMore = false;
  /** What no event tells has changed (a note for people, a rewind): the newest page is to be read again. */
  stale = false;

  get ids(): readonly string[] {
    return this.order;
  }

  row(id: string): Row | undefined {
    return this.rows.get(id);
  }

  /** The oldest row that the daemon knows: where the page before it ends. */
  get oldest(): string | undefined {
    return this.order.find((id) => this.rows.get(id)?.draft === undefined);
  }

  take(): readonly Change[] {
    return this.changes.take(this.order);
  }

  attached({ snapshot, session, replay }: AttachResult): void {
    this.dropDrafts();
    if (snapshot !== undefined) {
      this.stale = false;
      this.happened.forget();
      this.meet(snapshot.session);
      this.newest({ items: snapshot.items, hasMore: snapshot.items.length >= snapshotItems });
    }
    replay.forEach((event) => this.event(event));
    if (session !== undefined) {
      this.meet(session);
    }
    this.activity = this.session?.activity ?? "idle";
    this.forgetPrinted();
  }

  summary({ activity }: Summary): void {
    this.activity = activity;
  }

  event({ event, seq, revision, turnId, at }: AgentsEvent): void {
    this.happened.hear(event);
    switch (event["type"]) {
      case "session/updated":
        return this.updated(event["session"] as Session);
      case "item/started":
      case "item/updated":
      case "item/completed":
        return this.upsert(event["item"] as Item);
      case "item/delta":
        return this.delta(event as unknown as Delta, { revision, turnId: turnId ?? "", at });
      case "tool/progress":
        return this.progress(event as unknown as ToolProgress);
      case "session/seeded":
        return this.reread();
      case "note":
        return seq === undefined ? this.dropDrafts() : this.reread();
      case "turn/completed":
        return event["end"] === "answered" ? this.dropDrafts() : this.reread();
      default:
    }
  }

  /** The page before the first row. */
  older({ items, hasMore }: Page): void {
    const fresh = items.filter((item) => !this.rows.has(item.itemId));
    fresh.forEach((item) => this.store({ item }));
    this.splice(0, 0, fresh.map((item) => item.itemId));
    this.hasMore = hasMore;
  }

  /** The newest page: rows before its first item stay, and after that there is what it has. */
  newest({ items, hasMore }: Page): void {
    // A first item that is not known has nothing in common with the rows: they are of another line, or far older
    const from = Math.max(0, this.order.indexOf(items[0]?.itemId ?? ""));
    this.hasMore = from === 0 ? hasMore : this.hasMore;
    const drafts = this.order.filter((id) => this.rows.get(id)?.draft !== undefined && !items.some((i) => i.itemId === id));
    this.replace(from, [...items.map((item) => item.itemId), ...drafts], items);
  }

  /** All that a running call has printed so far; `whole` is false where a part is left out of it. */
  printed(callId: string, text: string, whole: boolean): void {
    const row = this.rowOf(callId);
    if (row?.item.call !== undefined && !isFinal(row.item.call)) {
      this.change({ ...row, printed: { text, reached: whole ? [...text].length : undefined } });
    }
  }

  private updated(session: Session): void {
    this.meet(session);
    if (session.state !== "userTurn") {
      this.dropDrafts();
    }
  }

  /** What a call waits for is told with the session, so that the row of the call has changed with it. */
  private meet(session: Session): void {
    const before = this.session;
    this.session = session;
    const calls = [...(before?.pending ?? []), ...session.pending].map((call) => call.callId);
    const told = (of: Session | undefined, callId: string): string =>
      JSON.stringify([of?.drivenBy, of?.pending.filter((call) => call.callId === callId)]);
    for (const callId of new Set(calls)) {
      const row = this.rowOf(callId);
      if (row !== undefined && told(before, callId) !== told(session, callId)) {
        this.changes.put(row.item.itemId);
      }
    }
  }

  private reread(): void {
    this.dropDrafts();
    this.stale = true;
  }

  private upsert(item: Item): void {
    const row = this.rows.get(item.itemId);
    if (row === undefined) {
      const later = (id: string): boolean => this.rows.get(id)?.draft !== undefined && stepOf(id) !== stepOf(item.itemId);
      const at = this.order.findIndex(later);
      this.store({ item });
      this.splice(at < 0 ? this.order.length : at, 0, [item.itemId]);
    } else {
      const { draft: _streamed, ...kept } = row;
      const over = item.call !== undefined && isFinal(item.call);
      this.change(over ? { item } : { ...kept, item });
    }
  }

  private delta({ itemId, kind, offset, text }: Delta, at: Pick<Item, "revision" | "turnId" | "at">): void {
    const row = this.rows.get(itemId);
    if (row !== undefined && row.draft === undefined) {
      return;
    }
    const before = row?.draft ?? nothing;
    if (offset < (before.reached ?? 0)) {
      // The model is asked again: nothing that came of this answer counts
      this.dropDrafts();
      return this.delta({ itemId, kind, offset, text }, at);
    }
    const { stream, added } = extend(before, offset, text);
    const draft: Row = { item: row?.item ?? { itemId, kind, ...at }, draft: stream };
    this.store(draft);
    if (row === undefined) {
      this.splice(this.order.length, 0, [itemId]);
    }
    this.changes.append(itemId, added);
  }

  private progress({ callId, offset, text, ...progress }: ToolProgress): void {
    const row = this.rowOf(callId);
    if (row === undefined) {
      return;
    }
    if (text === undefined || offset === undefined) {
      return this.change({ ...row, progress: progressOf(progress) });
    }
    const { stream, added, whole } = extend(row.printed ?? nothing, offset, text);
    const kept = trimmed(stream, printedKept);
    this.store({ ...row, printed: kept });
    if (whole && kept === stream) {
      this.changes.append(row.item.itemId, added);
    } else {
      this.changes.put(row.item.itemId);
    }
  }

  private rowOf(callId: string): Row | undefined {
    return this.rows.get(this.calls.get(callId) ?? "");
  }

  /** What was printed before a break has a hole from now on; the reader asks for all of it (`agents/output`). */
  private forgetPrinted(): void {
    for (const row of this.rows.values()) {
      if (row.printed !== undefined) {
        this.change({ ...row, printed: { text: row.printed.text, reached: undefined } });
      }
    }
  }

  private dropDrafts(): void {
    for (const id of this.order.filter((each) => this.rows.get(each)?.draft !== undefined)) {
      this.splice(this.order.indexOf(id), 1, []);
    }
  }

  /** Everything from the row `from` on is `ids` now; what is the same at both ends is left as it is. */
  private replace(from: number, ids: readonly string[], items: readonly Item[]): void {
    const old = this.order.slice(from);
    let same = 0;
    while (same < old.length && same < ids.length && old[same] === ids[same]) {
      same += 1;
    }
    for (const item of items) {
      const row = this.rows.get(item.itemId);
      if (row === undefined) {
        this.store({ item });
      } else if (JSON.stringify(row.item) !== JSON.stringify(item)) {
        this.upsert(item);
      }
    }
    this.splice(from + same, old.length - same, ids.slice(same));
  }

  private splice(at: number, remove: number, ids: readonly string[]): void {
    const gone = this.order.splice(at, remove, ...ids);
    gone.filter((id) => !ids.includes(id)).forEach((id) => this.rows.delete(id));
    ids.forEach((id) => this.changes.put(id));
    this.changes.move();
  }

  private store(row: Row): void {
    this.rows.set(row.item.itemId, row);
    if (row.item.call !== undefined) {
      this.calls.set(row.item.call.callId, row.item.itemId);
    }
  }

  private change(row: Row): void {
    this.store(row);
    this.changes.put(row.item.itemId);
  }
}
