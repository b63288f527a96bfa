// What the elements of all rows have in common.
import type { FromPage, Point, RowView } from "../core/page";
import { button, h } from "./dom";

/** What a row needs of the page around it. */
export interface RowHost {
  post(message: FromPage): void;
  /** Whether the person has folded or unfolded this row. */
  folded(id: string, otherwise: boolean): boolean;
  fold(id: string, folded: boolean): void;
}

export interface RowElement {
  readonly element: HTMLElement;
  update(view: RowView): void;
  append(text: string): void;
  /** Folds or unfolds it, where it can be. */
  toggle(): void;
}

/** The frame that all rows have: an article with a name, and what can be done from here. */
export function article(view: RowView, label: string): HTMLElement {
  const title = new Date(view.at).toLocaleString();
  return h("article", { class: `row ${view.kind}`, "data-id": view.id, tabindex: "-1", "aria-label": label, title });
}

/** What can begin at a row: a new session, or this one again. */
interface Way {
  readonly from: string;
  readonly point: Point;
}

function waysOf(view: RowView): readonly Way[] {
  const { revision } = view;
  if (revision === undefined) {
    return [];
  }
  const point = { revision };
  switch (view.kind) {
    case "call":
      return [
        { from: "before it ran", point },
        ...(view.ended ? [{ from: "after the results", point: { resultsOf: view.callId } }] : []),
      ];
    case "thinking":
      // It has the revision of the answer that it led to
      return [{ from: "after its answer", point }];
    case "note":
      // It is not always one to go back to
      return [];
    default:
      return [{ from: "", point }];
  }
}

/** Fork and rewind, in two steps: what leaves the timeline is said before it does. */
export function ways(view: RowView, host: RowHost): HTMLElement {
  const element = h("div", { class: "ways" });
  const rest = (): void => {
    element.classList.remove("sure");
    element.replaceChildren(...offers);
  };
  const rewind = (to: Point): void => {
    const keep = button("Keep", { class: "small" }, rest);
    element.classList.add("sure");
    element.replaceChildren(
      h("span", {}, "What comes after this leaves the timeline. Files stay as they are, and you can go back."),
      button("Rewind", { class: "small" }, () => (rest(), host.post({ kind: "rewind", to }))),
      keep,
    );
    keep.focus();
  };
  const offers = waysOf(view).map(({ from, point }) => {
    const where = from === "" ? "here" : from;
    const fork = { class: "small quiet fork", title: `A new session that begins ${where}` };
    const back = { class: "small quiet rewind", title: `Take the session back to ${from === "" ? "here" : `where it was ${from}`}` };
    return h(
      "span",
      { class: "way" },
      h("span", { class: "from" }, from),
      button("Fork", fork, () => host.post({ kind: "fork", at: point })),
      button("Rewind", back, () => rewind(point)),
    );
  });
  rest();
  return element;
}
