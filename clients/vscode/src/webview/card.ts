// A tool call as a card: what was asked for, who decided, what came of it and how long it took.
import type { CallRow, RowView, WaitView } from "../core/page";
import { button, h, set, split } from "./dom";
import { article, ways, type RowElement, type RowHost } from "./row";

/** What decides acts only when it has stood still for so long, in milliseconds: what has just moved was not meant. */
const stillFor = 400;
/** Of what streams only the end is kept in the document. */
const streamShown = 8000;

export class CallCard implements RowElement {
  readonly element: HTMLElement;
  private readonly head: HTMLButtonElement;
  private readonly body = h("div", { class: "body" });
  private readonly output = h("pre", { class: "output", tabindex: "0", "aria-label": "Output" });
  private readonly took = h("span", { class: "took" });
  /** It was seen open while it ran, and so stays open when it is done. */
  private stays = false;
  private deciding: readonly HTMLButtonElement[] = [];
  private top: number | undefined;
  private settling: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private view: CallRow,
    private readonly host: RowHost,
  ) {
    this.element = article(view, "");
    this.head = button("", { class: "head" }, () => this.toggle());
    this.element.append(this.head, this.body);
    this.update(view);
  }

  update(view: RowView): void {
    if (view.kind !== "call") {
      return;
    }
    this.view = view;
    this.element.setAttribute("aria-label", `Tool call ${view.tool}, ${stateWord(view)}`);
    this.element.dataset["state"] = view.state;
    set(this.element, "aria-busy", view.streams ? "true" : undefined);
    this.element.classList.toggle("waits", view.waits !== undefined);
    this.head.replaceChildren(
      h("span", { class: "tool" }, view.tool),
      h("span", { class: "summary" }, view.summary),
      h("span", { class: "state" }, stateWord(view)),
      this.took,
    );
    this.tick(Date.now());
    this.show();
  }

  append(text: string): void {
    this.output.append(text);
    this.output.hidden = false;
    const shown = this.output.textContent ?? "";
    if (shown.length > 2 * streamShown) {
      this.output.textContent = shown.slice(-streamShown);
    }
    this.output.scrollTop = this.output.scrollHeight;
  }

  toggle(): void {
    this.host.fold(this.view.id, !this.isFolded);
    this.show();
  }

  /** Where it is now, as of each paint. */
  placed(top: number): void {
    if (this.top === undefined || Math.abs(this.top - top) > 2) {
      this.top = top;
      this.settle();
    }
  }

  /** How long it has run so far, or ran. */
  tick(now: number): void {
    const { startedAt, endedAt, state } = this.view;
    const end = endedAt !== undefined ? Date.parse(endedAt) : state === "running" ? now : undefined;
    this.took.textContent = startedAt === undefined || end === undefined ? "" : duration(end - Date.parse(startedAt));
  }

  private get isFolded(): boolean {
    return this.host.folded(this.view.id, this.view.waits === undefined && !this.view.streams && !this.stays);
  }

  private show(): void {
    this.head.setAttribute("aria-expanded", String(!this.isFolded));
    this.body.hidden = this.isFolded;
    this.stays = this.view.streams || this.stays;
    if (!this.isFolded) {
      this.fill();
    }
  }

  private fill(): void {
    const { view, host } = this;
    this.output.textContent = view.output;
    this.output.hidden = view.output === "";
    const more = button("Show all of the output", { class: "small" }, () => host.post({ kind: "output", callId: view.callId }));
    const child = button("Open the session that works on it", { class: "small" }, () =>
      host.post({ kind: "session", sessionId: view.childId ?? "" }),
    );
    this.body.replaceChildren(
      h("pre", { class: "arguments", tabindex: "0", "aria-label": "Arguments" }, view.arguments),
      ...(view.proposed === undefined ? [] : [hint("proposed were"), h("pre", { class: "arguments" }, view.proposed)]),
      ...(view.decision === "" ? [] : [hint(view.decision)]),
      ...(view.progress === "" ? [] : [hint(view.progress)]),
      ...(view.mayHaveRun ? [hint("It may have run: it was cut off after it had started.", "warns")] : []),
      this.output,
      ...(view.more ? [more] : []),
      ...(view.childId === undefined ? [] : [child]),
      ...(view.waits === undefined ? [] : [this.decide(view.waits)]),
      ways(view, host),
    );
  }

  private settle(): void {
    const wait = (is: boolean): void => this.deciding.forEach((each) => set(each, "aria-disabled", is ? "true" : undefined));
    clearTimeout(this.settling);
    wait(true);
    this.settling = setTimeout(() => {
      this.settling = undefined;
      wait(false);
    }, stillFor);
  }

  /** What can be answered here. A button is never focused by itself, and no key but its own acts on it. */
  private decide(waits: WaitView): HTMLElement {
    const { host } = this;
    const { token, argumentsHash } = waits;
    const review = button("Review…", {}, () => host.post({ kind: "review", token }));
    const still = (act: () => void) => (): void => (this.settling === undefined ? act() : undefined);
    const approve = (resume: boolean): HTMLButtonElement => {
      const text = resume ? "Approve and continue" : "Approve";
      return button(text, {}, still(() => host.post({ kind: "approve", token, argumentsHash, resume })));
    };
    const [first, other] = [approve(waits.continues), approve(!waits.continues)];
    const deny = button("Deny", {}, still(() => host.post({ kind: "deny", token })));
    this.deciding = [first, other, deny];
    this.settle();
    const buttons = [review, waits.approvable && split(first, other), waits.deniable && deny];
    return h(
      "div",
      { class: "decide", role: "group", "aria-label": `Waits for ${waits.kind}` },
      ...(waits.question === "" ? [] : [h("div", { class: "question" }, waits.question)]),
      hint(`${waits.reason} · in ${waits.cwd}`),
      h("div", { class: "buttons" }, ...buttons),
    );
  }
}

const waitWords: Readonly<Record<string, string>> = {
  approval: "waits for approval",
  external: "waits for a result",
  question: "asks",
  uncertain: "may have run",
};

const stateWords: Readonly<Record<string, string>> = { ready: "not started", deferred: "waits" };

function hint(text: string, more = ""): HTMLElement {
  return h("div", { class: `hint ${more}` }, text);
}

function stateWord(view: CallRow): string {
  const waiting = view.waits === undefined ? undefined : waitWords[view.waits.kind];
  return waiting ?? stateWords[view.state] ?? view.state;
}

function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  const minutes = Math.floor(seconds / 60);
  const short = seconds < 10 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds)} s`;
  return minutes > 0 ? `${minutes} min ${Math.floor(seconds % 60)} s` : short;
}
