// Markdown that grows: what cannot change any more is left alone, and only the last block is made anew.
import { blocks, definesLinks, type Mark } from "../core/markdown";
import { h } from "./dom";

export class Prose {
  readonly element = h("div", { class: "prose" });
  private text = "";
  /** Where the last block begins, in `text` and among the children. */
  private open = 0;
  private done = 0;

  set(text: string): void {
    if (text.startsWith(this.text) && !definesLinks(text)) {
      this.append(text.slice(this.text.length));
    } else if (text !== this.text) {
      this.clear();
      this.append(text);
    }
  }

  append(piece: string): void {
    if (piece === "") {
      return;
    }
    this.text += piece;
    const tail = this.text.slice(this.open);
    const found = blocks(tail);
    while (this.element.childNodes.length > this.done) {
      this.element.lastChild?.remove();
    }
    found.forEach(({ mark }) => this.element.append(...nodes(mark)));
    const last = found.at(-1);
    if (last !== undefined && last.line > 0) {
      this.done = this.element.childNodes.length - nodeCount(last.mark);
      this.open += lineStart(tail, last.line);
    }
  }

  private clear(): void {
    this.text = "";
    this.open = 0;
    this.done = 0;
    this.element.replaceChildren();
  }
}

function nodeCount(mark: Mark): number {
  return mark.tag === "" ? mark.children.length : 1;
}

function lineStart(text: string, line: number): number {
  let at = 0;
  for (let seen = 0; seen < line; seen += 1) {
    at = text.indexOf("\n", at) + 1;
  }
  return at;
}

function nodes(mark: Mark | string): readonly Node[] {
  if (typeof mark === "string") {
    return [document.createTextNode(mark)];
  }
  const children = mark.children.flatMap(nodes);
  if (mark.tag === "") {
    return children;
  }
  const element = document.createElement(mark.tag);
  Object.entries(mark.attributes).forEach(([name, value]) => element.setAttribute(name, value));
  if (mark.tag === "a") {
    element.setAttribute("rel", "noreferrer");
  }
  element.append(...children);
  return mark.tag === "table" ? [h("div", { class: "wide" }, element)] : [element];
}
