// The page of a session: what it shows it was told by the panel, frame by frame; what it keeps is where one was.
import type { Counts, Frame, FromPage, PageState, SessionView } from "../core/page";
import { Composer } from "./composer";
import { button, h } from "./dom";
import { listen } from "./keys";
import { List } from "./list";
import { Toolbar } from "./toolbar";

interface Host {
  postMessage(message: FromPage): void;
  getState(): PageState | undefined;
  setState(state: PageState): void;
}

declare function acquireVsCodeApi(): Host;

declare global {
  interface Window {
    /** For tests. */
    abeyCounts: Counts;
  }
}

/** What is kept is told to the panel when nothing of it has changed for so long, in milliseconds. */
const keepAfter = 100;
/** How near to the beginning the page before it is asked for, in pixels. */
const nearStart = 800;
/** So many rows that were folded or unfolded are remembered. */
const foldsKept = 300;

class Page {
  private readonly host = acquireVsCodeApi();
  private readonly counts: Counts = { rendered: 0, mostRendered: 0, frames: 0, paints: 0, fullRenders: 0, rowRenders: 0 };
  private readonly folds: Map<string, boolean>;
  private readonly toolbar: Toolbar;
  private readonly list: List;
  private readonly composer: Composer;
  private readonly jump = button("To the end", { class: "jump" }, () => this.list.followEnd());
  private readonly frames: Frame[] = [];
  private session: SessionView | undefined;
  private trouble = "";
  private hasMore = false;
  private asking = false;
  private planned = false;
  private saved = "";
  private keeping: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    const state = this.kept();
    const post = (message: FromPage): void => this.host.postMessage(message);
    this.folds = new Map([...(state?.folded ?? []).map(folded(true)), ...(state?.unfolded ?? []).map(folded(false))]);
    this.toolbar = new Toolbar(post);
    const rowHost = {
      post,
      folded: (id: string, otherwise: boolean) => this.folds.get(id) ?? otherwise,
      fold: (id: string, is: boolean) => this.fold(id, is),
    };
    this.list = new List(rowHost, this.counts, () => this.wake(), state?.anchor);
    const writing = { draft: state?.draft ?? "", delivery: state?.delivery ?? "turn", after: state?.after ?? "turn" } as const;
    this.composer = new Composer(writing, post, () => this.save());
    const middle = h("div", { class: "middle" }, this.list.scroller, this.jump);
    document.body.append(this.toolbar.element, middle, this.composer.element);
    window.abeyCounts = this.counts;
    this.listen();
    const { anchor } = state ?? {};
    post({ kind: "ready", ...(anchor !== undefined && { anchor: anchor.id }) });
  }

  private listen(): void {
    window.addEventListener("message", ({ data }: MessageEvent<Frame>) => {
      if (data.kind === "frame") {
        this.counts.frames += 1;
        this.frames.push(data);
        this.wake();
      }
    });
    // Who comes by the keyboard comes to the input; Enter there does nothing while nothing is written
    window.addEventListener("focus", () => {
      if (document.activeElement === document.body) {
        this.composer.input.focus({ preventScroll: true });
      }
    });
    document.addEventListener("click", (event) => this.clicked(event));
    listen(this.list, this.composer.input, () => this.hasMore && this.host.postMessage({ kind: "older", all: true }));
    setInterval(() => this.list.tick(Date.now()), 1000);
  }

  /** A link is opened by the panel, which asks; the page itself goes nowhere. */
  private clicked(event: MouseEvent): void {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (link !== null) {
      event.preventDefault();
      this.host.postMessage({ kind: "link", href: link.getAttribute("href") ?? "" });
    }
  }

  private wake(): void {
    if (!this.planned) {
      this.planned = true;
      requestAnimationFrame(() => this.paint());
    }
  }

  private paint(): void {
    this.planned = false;
    const frames = this.frames.splice(0);
    frames.forEach((frame) => this.take(frame));
    this.counts.paints += 1;
    this.list.paint();
    this.jump.hidden = this.list.place === undefined;
    frames.forEach(({ n }) => this.host.postMessage({ kind: "painted", n }));
    this.wantOlder();
    this.save();
  }

  private take(frame: Frame): void {
    if (frame.reset) {
      this.list.reset();
    }
    frame.ops.forEach((op) => this.list.apply(op));
    this.hasMore = frame.hasMore;
    this.asking = false;
    this.composer.receive(frame.receipts);
    // Frames of what streams tell of rows alone: what can be clicked beside them is left as it is
    if (frame.session !== undefined || frame.trouble !== this.trouble) {
      this.trouble = frame.trouble;
      this.session = frame.session ?? this.session;
      this.showSession();
    }
  }

  private showSession(): void {
    this.toolbar.update(this.session, this.trouble);
    this.composer.update(this.session);
    document.body.classList.toggle("forks", this.session?.forks ?? false);
    document.body.classList.toggle("rewinds", this.session?.rewinds ?? false);
    this.session && tellMenu(this.session);
  }

  private wantOlder(): void {
    if (this.hasMore && !this.asking && this.list.scroller.scrollTop < nearStart) {
      this.asking = true;
      this.host.postMessage({ kind: "older", all: false });
    }
  }

  private fold(id: string, is: boolean): void {
    this.folds.delete(id);
    this.folds.set(id, is);
    this.wake();
  }

  /** By this page, or by the panel: the newer of both. */
  private kept(): PageState | undefined {
    const given = JSON.parse(document.body.dataset["kept"] ?? "null") as PageState | null;
    const own = this.host.getState();
    return own !== undefined && own.at >= (given?.at ?? 0) ? own : given ?? undefined;
  }

  private save(): void {
    const folds = [...this.folds].slice(-foldsKept);
    const { place } = this.list;
    const state = {
      sessionId: document.body.dataset["session"] ?? "",
      ...(place !== undefined && { anchor: place }),
      folded: folds.filter(([, is]) => is).map(([id]) => id),
      unfolded: folds.filter(([, is]) => !is).map(([id]) => id),
      ...this.composer.writing,
    };
    const said = JSON.stringify(state);
    if (said !== this.saved) {
      this.saved = said;
      const dated = { ...state, at: Date.now() };
      this.host.setState(dated);
      clearTimeout(this.keeping);
      this.keeping = setTimeout(() => this.host.postMessage({ kind: "keep", state: dated }), keepAfter);
    }
  }
}

/** For the context menu of VS Code: whose it is, and what can be done. */
function tellMenu({ sessionId, can, forks, rewinds, takesInput }: SessionView): void {
  const more = [forks && "fork", rewinds && "rewind", takesInput && "stop"];
  const abeyCan = [...can, ...more].filter((verb) => verb !== false).join(" ");
  document.body.dataset["vscodeContext"] = JSON.stringify({ kind: "session", sessionId, abeyCan });
}

function folded(is: boolean): (id: string) => [string, boolean] {
  return (id) => [id, is];
}

new Page();
