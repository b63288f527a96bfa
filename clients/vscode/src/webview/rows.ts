// The element of a row: made once, then only what has changed of it.
import type { RowView, TextRow } from "../core/page";
import { CallCard } from "./card";
import { button, h, set } from "./dom";
import { Prose } from "./prose";
import { article, ways, type RowElement, type RowHost } from "./row";

export function rowElement(view: RowView, host: RowHost): RowElement {
  return view.kind === "call" ? new CallCard(view, host) : new Text(view, host);
}

const names = { input: "You", thinking: "Thinking", answer: "Answer", note: "Note", call: "Tool call" } as const;

class Text implements RowElement {
  readonly element: HTMLElement;
  private readonly prose = new Prose();
  private readonly plain = h("div", { class: "plain" });
  private readonly head: HTMLElement | undefined;
  private readonly body: HTMLElement;

  constructor(
    private view: TextRow,
    private readonly host: RowHost,
  ) {
    this.element = article(view, names[view.kind]);
    this.body = view.kind === "answer" ? this.prose.element : this.plain;
    if (view.kind === "thinking") {
      this.head = button("", { class: "head" }, () => this.toggle());
      this.element.append(this.head);
    } else if (view.kind !== "answer") {
      this.element.append(h("div", { class: "who" }, names[view.kind]));
    }
    this.element.append(this.body);
    this.update(view);
  }

  update(view: RowView): void {
    if (view.kind === "call") {
      return;
    }
    const recorded = this.view.revision !== view.revision || this.element.querySelector(".ways") === null;
    this.view = view;
    if (view.kind === "answer") {
      this.prose.set(view.text);
    } else {
      this.plain.textContent = view.text;
    }
    set(this.element, "aria-busy", view.streams ? "true" : undefined);
    this.element.classList.toggle("streams", view.streams);
    if (recorded) {
      this.element.querySelector(".ways")?.remove();
      this.element.prepend(ways(view, this.host));
    }
    this.showFold();
  }

  append(text: string): void {
    this.view = { ...this.view, text: this.view.text + text };
    if (this.view.kind === "answer") {
      this.prose.append(text);
    } else {
      this.plain.append(text);
    }
    this.showFold();
  }

  toggle(): void {
    if (this.head !== undefined) {
      this.host.fold(this.view.id, !this.isFolded);
      this.showFold();
    }
  }

  private get isFolded(): boolean {
    return this.host.folded(this.view.id, true);
  }

  private showFold(): void {
    if (this.head !== undefined) {
      const first = this.view.text.trim().split("\n", 1)[0] ?? "";
      this.head.textContent = this.isFolded ? `Thinking · ${first.slice(0, 120)}` : "Thinking";
      this.head.setAttribute("aria-expanded", String(!this.isFolded));
      this.body.hidden = this.isFolded;
    }
  }
}
