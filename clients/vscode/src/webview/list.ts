// The timeline: of any number of rows only those in and near sight are in the document, and each is made once.
import { Extent } from "../core/extent";
import type { Counts, Op, PageState, RowView } from "../core/page";
import { h } from "./dom";
import type { RowHost } from "./row";
import { Shown } from "./shown";

const mostRows = 60;
const beyond = 400;
/** How near to the end counts as at the end. */
const nearEnd = 24;
/** What is not measured yet is thought to be so high, in pixels. */
const guesses = { input: 64, thinking: 36, answer: 120, note: 40, call: 44 } as const;

type Anchor = NonNullable<PageState["anchor"]>;

export class List {
  readonly scroller = h("div", { class: "scroller", tabindex: "-1" });
  private readonly before = h("div", { class: "space", "aria-hidden": "true" });
  private readonly after = h("div", { class: "space", "aria-hidden": "true" });
  private rows: RowView[] = [];
  private readonly places = new Map<string, number>();
  private readonly heights = new Map<string, number>();
  private readonly resized = new ResizeObserver(() => this.wake());
  private readonly shown: Shown;
  private width = 0;
  private asked = 0;

  /** The row that the keyboard is at. */
  current: string | undefined;
  /** Absent: the end is followed. */
  private anchor: Anchor | undefined;
  /** The beginning is wanted, and kept in sight while it is read. */
  private wantsStart = false;

  constructor(
    host: RowHost,
    private readonly counts: Counts,
    /** Paints soon. */
    private readonly wake: () => void,
    anchor: Anchor | undefined,
  ) {
    this.anchor = anchor;
    // The keyboard stays in the list, at the row that it was at, though that is out of sight
    this.shown = new Shown(host, counts, this.resized, () => this.scroller.focus({ preventScroll: true }));
    this.scroller.append(this.before, this.shown.feed, this.after);
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.resized.observe(this.scroller);
  }

  get place(): Anchor | undefined {
    return this.anchor;
  }

  get first(): number {
    return this.extent().at(this.scroller.scrollTop);
  }

  reset(): void {
    this.rows = [];
    this.shown.clear();
    this.counts.fullRenders += 1;
  }

  apply(op: Op): void {
    switch (op.kind) {
      case "splice":
        this.rows.splice(op.at, op.remove, ...op.rows);
        this.places.clear();
        this.rows.forEach((row, at) => this.places.set(row.id, at));
        return;
      case "put": {
        const at = this.places.get(op.row.id);
        if (at !== undefined) {
          this.rows[at] = op.row;
        }
        return;
      }
      case "append":
        return this.append(op.id, op.text);
    }
  }

  /** Brings the document to what is to be seen, around the place that is kept. */
  paint(): void {
    if (this.scroller.clientWidth !== this.width) {
      this.width = this.scroller.clientWidth;
      this.heights.clear();
    }
    const [first] = this.rows;
    if (this.wantsStart && first !== undefined) {
      this.anchor = { id: first.id, above: 0 };
      this.current = first.id;
    }
    // What is measured may move what is in sight: then once more
    for (let pass = 0; pass < 3 && this.arrange(); pass += 1);
    this.settleAtEnd();
    if (this.wantsStart) {
      this.focus();
    }
    this.shown.cards().forEach((card) => card.placed(card.element.getBoundingClientRect().top));
    this.counts.rendered = this.shown.count;
    this.counts.mostRendered = Math.max(this.counts.mostRendered, this.shown.count);
  }

  tick(now: number): void {
    this.shown.cards().forEach((card) => card.tick(now));
  }

  /** Moves the keyboard `by` rows on. */
  go(by: number): void {
    const from = this.places.get(this.current ?? "") ?? this.first;
    const to = Math.max(0, Math.min(this.rows.length - 1, from + by));
    const row = this.rows[to];
    if (row !== undefined) {
      this.current = row.id;
      this.wantsStart = false;
      this.show(to);
      this.focus();
    }
  }

  /** To the first row, also of those that are still to be read. */
  goToStart(): void {
    this.wantsStart = true;
    this.wake();
  }

  /** To the last row; from now on the end is followed. */
  goToEnd(): void {
    this.current = this.rows.at(-1)?.id;
    this.followEnd();
    this.paint();
    this.focus();
  }

  toggle(): void {
    this.shown.row(this.current)?.toggle();
    this.wake();
  }

  followEnd(): void {
    this.anchor = undefined;
    this.wantsStart = false;
    this.wake();
  }

  private focus(): void {
    const row = this.shown.row(this.current);
    if (row !== undefined && !row.element.contains(document.activeElement)) {
      row.element.focus({ preventScroll: true });
    }
  }

  private append(id: string, text: string): void {
    const at = this.places.get(id);
    const row = this.rows[at ?? -1];
    if (at === undefined || row === undefined) {
      return;
    }
    const view: RowView = row.kind === "call" ? { ...row, output: row.output + text } : { ...row, text: row.text + text };
    this.rows[at] = view;
    this.shown.append(row, view, text);
  }

  private extent(): Extent {
    return new Extent(this.rows.map((row) => this.heights.get(row.id) ?? guesses[row.kind]));
  }

  /** One pass; true where something in sight is still a guess. */
  private arrange(): boolean {
    const before = this.extent();
    const { clientHeight } = this.scroller;
    const top = this.topOf(before, clientHeight);
    const range = before.range(top, top + clientHeight, beyond, mostRows);
    this.shown.render(this.rows, range.from, range.to);
    const news = this.shown.measure(this.heights);
    const after = news ? this.extent() : before;
    this.before.style.height = `${after.top(range.from)}px`;
    this.after.style.height = `${after.total - after.top(range.to)}px`;
    this.scrollTo(this.topOf(after, clientHeight));
    return news;
  }

  /** Where the sight begins: at the place that is kept, else so that the end is seen. */
  private topOf(extent: Extent, height: number): number {
    const at = this.anchor === undefined ? undefined : this.places.get(this.anchor.id);
    const top = at === undefined || this.anchor === undefined ? extent.total - height : extent.top(at) + this.anchor.above;
    return Math.max(0, Math.min(top, extent.total - height));
  }

  /** A place from which the end is seen is the end. */
  private settleAtEnd(): void {
    const { scrollTop, clientHeight, scrollHeight } = this.scroller;
    if (this.places.has(this.anchor?.id ?? "") && scrollTop + clientHeight >= scrollHeight - 1) {
      this.anchor = undefined;
    }
  }

  private scrollTo(top: number): void {
    if (Math.abs(this.scroller.scrollTop - top) >= 1) {
      this.scroller.scrollTop = top;
    }
    this.asked = this.scroller.scrollTop;
  }

  /** The person has scrolled, or we have: what we asked for changes no place. */
  private scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    if (Math.abs(scrollTop - this.asked) < 1) {
      return;
    }
    this.wantsStart = false;
    const extent = this.extent();
    const at = extent.at(scrollTop);
    const row = this.rows[at];
    const atEnd = scrollTop + clientHeight >= scrollHeight - nearEnd;
    this.anchor = atEnd || row === undefined ? undefined : { id: row.id, above: scrollTop - extent.top(at) };
    this.asked = scrollTop;
    this.wake();
  }

  /** Scrolls as little as shows all of row `at`, or its beginning. */
  private show(at: number): void {
    const extent = this.extent();
    const { scrollTop, clientHeight } = this.scroller;
    const inside = extent.top(at) >= scrollTop && extent.top(at + 1) <= scrollTop + clientHeight;
    if (!inside) {
      const above = extent.top(at) < scrollTop || extent.top(at + 1) - extent.top(at) > clientHeight;
      const top = above ? extent.top(at) : extent.top(at + 1) - clientHeight;
      const first = extent.at(top);
      const last = at === this.rows.length - 1 && !above;
      this.anchor = last ? undefined : { id: this.rows[first]?.id ?? "", above: top - extent.top(first) };
    }
    this.paint();
  }
}
