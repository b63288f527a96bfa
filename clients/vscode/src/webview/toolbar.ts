// The head of the panel: which session, what it does, what can be asked of it, what it has used.
import type { FromPage, SessionView, Verb } from "../core/page";
import { button, h } from "./dom";

const verbs: readonly (readonly [Verb, string, string])[] = [
  ["step", "Step", "One model call, or one round of tools"],
  ["run", "Run", "Steps until the turn ends or somebody is needed"],
  ["continue", "Continue", "Another turn without a new input"],
  ["pause", "Pause", "No further step; what runs goes on to its end"],
  ["resume", "Resume", "End the pause and run"],
  ["cancel", "Cancel", "End this turn, and what runs in it"],
];

export class Toolbar {
  readonly element = h("header", { class: "bar" });
  private readonly title = h("h1", {});
  private readonly status = h("span", { class: "status" });
  private readonly about = h("div", { class: "about" });
  private readonly notices = h("div", { class: "notices" });
  private can: ReadonlySet<Verb> = new Set();
  private readonly buttons: ReadonlyMap<Verb, HTMLButtonElement>;
  /** Says to a screen reader what the session does now. */
  private readonly spoken = h("div", { class: "spoken", role: "status", "aria-live": "polite" });

  constructor(private readonly post: (message: FromPage) => void) {
    this.buttons = new Map(
      verbs.map(([verb, text, title]) => [verb, button(text, { title }, () => this.can.has(verb) && post({ kind: "verb", verb }))]),
    );
    const actions = h("div", { class: "buttons", role: "toolbar", "aria-label": "Session" }, ...this.buttons.values());
    this.element.append(h("div", { class: "line" }, this.title, this.status, actions), this.about, this.notices, this.spoken);
  }

  update(view: SessionView | undefined, trouble: string): void {
    this.title.textContent = view?.title ?? "Session";
    this.status.textContent = view?.status ?? (trouble === "" ? "opening" : "not there");
    this.status.className = `status ${view?.tone ?? "busy"}`;
    this.say(view?.status ?? "");
    this.about.replaceChildren(...(view === undefined ? [] : this.parts(view)));
    const problems = [trouble, ...(view?.notices ?? [])].filter((text) => text !== "");
    this.note(problems, trouble !== "" || view?.tone === "error");
    this.can = new Set(view?.can);
    this.buttons.forEach((each, verb) => this.offer(each, this.can.has(verb)));
  }

  /** Under the keyboard a button stays, and only says that it cannot be used. */
  private offer(each: HTMLButtonElement, can: boolean): void {
    each.hidden = !can && each !== document.activeElement;
    each.setAttribute("aria-disabled", String(!can));
  }

  /** What is said already is not said again. */
  private note(problems: readonly string[], failed: boolean): void {
    const said = [...this.notices.children].map((each) => each.textContent);
    if (said.join("\n") !== problems.join("\n")) {
      this.notices.replaceChildren(...problems.map((text) => h("div", { class: "notice", role: "alert" }, text)));
    }
    this.notices.childNodes.forEach((each) => (each as Element).classList.toggle("error", failed));
  }

  private parts({ agent, cwd, usage, cost, parent }: SessionView): readonly Node[] {
    const texts = [agent, cwd, usage, `cost ${cost}`].map((text) => h("span", {}, text));
    const open = (sessionId: string): Node =>
      button("Open the session that it works for", { class: "small quiet" }, () => this.post({ kind: "session", sessionId }));
    return parent === undefined ? texts : [...texts, open(parent)];
  }

  private say(text: string): void {
    if (this.spoken.textContent !== text) {
      this.spoken.textContent = text;
    }
  }
}
