// Where input is written. Enter sends; what was sent is gone from here only when it is recorded.
import type { After, FromPage, Receipt, SessionView } from "../core/page";
import type { Delivery } from "../protocol";
import { button, h } from "./dom";

export interface Writing {
  readonly draft: string;
  readonly delivery: Delivery;
  readonly after: After;
}

const deliveries: readonly (readonly [Delivery, string, string])[] = [
  ["turn", "Send", "Joins the open turn where that can be, else it waits for its end"],
  ["queue", "Queue", "Waits for the end of the turn, and is a turn of its own"],
  ["interrupt", "Interrupt", "Goes before the next step, ahead of all that waits; nothing is aborted"],
];

const afters: readonly (readonly [After, string])[] = [
  ["turn", "and run"],
  ["step", "and step once"],
  ["none", "and wait"],
];

export class Composer {
  readonly element = h("form", { class: "composer", "aria-label": "Input" });
  readonly input = h("textarea", { rows: "2", "aria-label": "Input for the session", "aria-describedby": "composer-hint" });
  private readonly queued = h("ul", { class: "queued", "aria-label": "Inputs that wait" });
  private readonly problem = h("div", { class: "notice", role: "alert", hidden: true });
  private readonly modes: ReadonlyMap<Delivery, HTMLInputElement>;
  private readonly after = h("select", { "aria-label": "What happens after it is sent" });
  private readonly submit = h("button", { type: "submit", class: "primary" }, "Send");
  private readonly sending = new Map<string, string>();

  constructor(
    writing: Writing,
    private readonly post: (message: FromPage) => void,
    /** What is written, or how it is sent, has changed. */
    private readonly changed: () => void,
  ) {
    this.modes = new Map(deliveries.map(([delivery]) => [delivery, this.radio(delivery, writing.delivery)]));
    this.input.value = writing.draft;
    afters.forEach(([value, text]) => this.after.append(h("option", { value }, text)));
    this.after.value = writing.after;
    this.lay();
    this.listen();
  }

  get writing(): Writing {
    const delivery = deliveries.find(([each]) => this.modes.get(each)?.checked)?.[0] ?? "turn";
    const after = afters.find(([each]) => each === this.after.value)?.[0] ?? "turn";
    return { draft: this.input.value, delivery, after };
  }

  receive(receipts: readonly Receipt[]): void {
    receipts.forEach((receipt) => this.received(receipt));
  }

  update(view: SessionView | undefined): void {
    this.element.hidden = view?.takesInput === false;
    this.modes.forEach((radio, delivery) => {
      radio.disabled = delivery !== "turn" && view?.turnOpen !== true;
      radio.parentElement?.classList.toggle("off", radio.disabled);
    });
    this.nameSubmit();
    const items = (view?.queued ?? []).map(({ inputId, delivery, text }) => {
      const withdraw = button("Withdraw", { class: "small" }, () => this.post({ kind: "withdraw", inputId }));
      const how = h("span", { class: "hint" }, delivery === "interrupt" ? "Before the next step:" : "Queued:");
      return h("li", {}, how, h("span", {}, text), withdraw);
    });
    this.queued.replaceChildren(...items);
  }

  /** Without an open turn there is nothing to wait for, or to overtake. */
  private get effective(): Delivery {
    const { delivery } = this.writing;
    return this.modes.get(delivery)?.disabled ? "turn" : delivery;
  }

  private nameSubmit(): void {
    this.submit.textContent = deliveries.find(([each]) => each === this.effective)?.[1] ?? "Send";
  }

  private radio(delivery: Delivery, chosen: Delivery): HTMLInputElement {
    return h("input", { type: "radio", name: "delivery", value: delivery, checked: delivery === chosen });
  }

  private lay(): void {
    const modes = deliveries.map(([delivery, text, title]) => h("label", { title }, this.modes.get(delivery) as HTMLElement, text));
    const hint = h("span", { id: "composer-hint", class: "hint" }, "Enter sends, Shift+Enter begins a line");
    const group = h("span", { class: "modes", role: "radiogroup", "aria-label": "How it is sent" }, ...modes);
    this.input.placeholder = "What is to be done?";
    this.element.append(this.queued, this.problem, this.input, h("div", { class: "line" }, group, this.after, hint, this.submit));
  }

  private listen(): void {
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.element.addEventListener("change", () => {
      this.nameSubmit();
      this.changed();
    });
    this.input.addEventListener("input", this.changed);
    this.input.addEventListener("keydown", (event) => {
      // While an input method composes, Enter belongs to it
      if (event.key === "Enter" && !event.shiftKey && !event.altKey && !event.isComposing) {
        event.preventDefault();
        this.send();
      }
    });
  }

  private send(): void {
    const { draft, after } = this.writing;
    if (draft.trim() === "") {
      return;
    }
    const inputId = freshId();
    this.sending.set(inputId, draft);
    this.input.value = "";
    this.problem.hidden = true;
    this.changed();
    this.post({ kind: "send", inputId, text: draft, delivery: this.effective, run: after });
  }

  private received({ inputId, problem }: Receipt): void {
    const text = this.sending.get(inputId);
    this.sending.delete(inputId);
    if (problem !== undefined) {
      this.problem.textContent = problem;
      this.problem.hidden = false;
      // What was not taken comes back, before what was written since
      this.input.value = [text, this.input.value].filter((each) => each !== undefined && each !== "").join("\n");
      this.changed();
    }
  }
}

/** 26 characters of `0-9a-z`, as the daemon takes an id of ours. */
function freshId(): string {
  const digits = "0123456789abcdefghijklmnopqrstuv";
  return [...crypto.getRandomValues(new Uint8Array(26))].map((byte) => digits[byte & 31]).join("");
}
