// The elements of the page. What others wrote comes into it as text alone.
import type { Piece } from "../../core/escape";

type Child = Node | string | undefined;

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  Object.entries(attributes).forEach(([attribute, value]) => made.setAttribute(attribute, value));
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** Enter and Space on a button work as everywhere; elsewhere on the page they do nothing. */
export function button(label: string, clicked: () => void, attributes: Readonly<Record<string, string>> = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", clicked);
  return made;
}

/** A text of others: whole, to be selected, and what was spelled out in it marked. */
export function text(label: string, id: string, pieces: readonly Piece[]): HTMLElement {
  const marked = pieces.map(({ text: piece, spelled }) =>
    spelled ? element("mark", { title: "spelled out: this character could hide or act" }, piece) : piece,
  );
  return element(
    "section",
    { class: "block" },
    element("h2", { id }, label),
    element("pre", { tabindex: "0", role: "document", "aria-labelledby": id }, ...marked),
  );
}

export function labelled(label: string, control: HTMLElement, help?: string): HTMLElement {
  const words = element("span", { class: "label" }, label);
  return element("label", { class: "field" }, words, control, help === undefined ? undefined : element("small", {}, help));
}
