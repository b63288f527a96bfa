// The rows that are in the document: made once, kept while they are in or near sight, then let go.
import type { Counts, RowView } from "../core/page";
import { CallCard } from "./card";
import { h } from "./dom";
import type { RowElement, RowHost } from "./row";
import { rowElement } from "./rows";

export class Shown {
  readonly feed = h("div", { class: "feed", role: "feed", "aria-label": "Timeline" });
  private readonly rows = new Map<string, { readonly view: RowView; readonly row: RowElement }>();

  constructor(
    private readonly host: RowHost,
    private readonly counts: Counts,
    private readonly resized: ResizeObserver,
    /** The keyboard was in a row that goes out of sight. */
    private readonly left: () => void,
  ) {}

  get count(): number {
    return this.rows.size;
  }

  row(id: string | undefined): RowElement | undefined {
    return this.rows.get(id ?? "")?.row;
  }

  cards(): readonly CallCard[] {
    return [...this.rows.values()].map(({ row }) => row).filter((row) => row instanceof CallCard);
  }

  clear(): void {
    this.rows.forEach(({ row }, id) => this.remove(id, row));
  }

  /** `before` has become `view` by a text at its end. */
  append(before: RowView, view: RowView, text: string): void {
    const shown = this.rows.get(view.id);
    if (shown?.view === before) {
      shown.row.append(text);
      this.rows.set(view.id, { view, row: shown.row });
    }
  }

  /** Just `wanted` is in the document, which are the rows from `from` on of all. */
  render(all: readonly RowView[], from: number, to: number): void {
    const wanted = all.slice(from, to);
    const ids = new Set(wanted.map((row) => row.id));
    for (const [id, { row }] of this.rows) {
      if (!ids.has(id)) {
        this.remove(id, row);
      }
    }
    let previous: Element | null = null;
    for (const [index, view] of wanted.entries()) {
      const { element } = this.element(view);
      element.setAttribute("aria-posinset", String(from + index + 1));
      element.setAttribute("aria-setsize", String(all.length));
      element.classList.toggle("turn", all[from + index - 1]?.turnId !== view.turnId && from + index > 0);
      const next: Element | null = previous === null ? this.feed.firstElementChild : previous.nextElementSibling;
      if (next !== element) {
        this.feed.insertBefore(element, next);
      }
      previous = element;
    }
  }

  private element(view: RowView): RowElement {
    const shown = this.rows.get(view.id);
    if (shown?.view === view) {
      return shown.row;
    }
    const same = shown !== undefined && (shown.view.kind === "call") === (view.kind === "call");
    const row = same ? shown.row : rowElement(view, this.host);
    if (same && JSON.stringify(shown.view) !== JSON.stringify(view)) {
      this.counts.rowRenders += 1;
      row.update(view);
    } else if (!same) {
      this.counts.rowRenders += 1;
      shown?.row.element.remove();
      this.resized.observe(row.element);
    }
    this.rows.set(view.id, { view, row });
    return row;
  }

  private remove(id: string, row: RowElement): void {
    if (row.element.contains(document.activeElement)) {
      this.left();
    }
    this.resized.unobserve(row.element);
    row.element.remove();
    this.rows.delete(id);
  }

  /** True where a height is another than was known. */
  measure(heights: Map<string, number>): boolean {
    let news = false;
    for (const [id, { row }] of this.rows) {
      const { height } = row.element.getBoundingClientRect();
      const known = heights.get(id);
      if (height > 0 && (known === undefined || Math.abs(known - height) >= 0.5)) {
        heights.set(id, height);
        news = true;
      }
    }
    return news;
  }
}
