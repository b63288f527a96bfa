// The page of a review. It draws what it is told, and tells what somebody did.
import type { Decided, Done, Review, Shown } from "../../core/review";
import { alwaysPart } from "./always";
import { choicesOf, type Choice } from "./choices";
import { button, element, text } from "./dom";
import { Drafts } from "./drafts";

declare function acquireVsCodeApi(): { postMessage(done: Done): void; getState(): unknown; setState(state: unknown): void };

const host = acquireVsCodeApi();
const drafts = new Drafts(host);
const main = document.querySelector("main") ?? document.body;

/** A click that was meant for what was there before decides nothing. */
const settling = 500;

/** Who hears nothing so long wants to know that it was sent. */
const lateMs = 1000;
let late = 0;

function draw(review: Review, said: string | undefined): void {
  drafts.about(review.token);
  const { token, sessionId, editable } = review;
  document.body.dataset["vscodeContext"] = JSON.stringify({ token, sessionId, abeyEditable: editable });
  const decide = (decided: Omit<Decided, "argumentsHash">): void => {
    settle();
    say("");
    host.postMessage({ type: "decide", decided: { ...decided, argumentsHash: review.argumentsHash } });
    late = window.setTimeout(() => say("Sent. The daemon has not answered yet."), lateMs);
  };
  const ask = (type: "edit" | "output") => () => host.postMessage({ type });
  const choices = choicesOf(review, drafts, { decide, edit: ask("edit"), output: ask("output"), say });
  const always = alwaysPart(review, drafts, decide, say);
  main.replaceChildren(
    element("header", {}, element("h1", {}, review.heading), element("code", {}, review.tool)),
    element("p", { id: "said", role: "alert", class: said === undefined ? "" : "shown" }, said ?? ""),
    ...review.warnings.map((warning) => element("p", { class: "warning" }, warning)),
    ...review.blocks.map((block, at) => text(block.label, `block-${at}`, block.pieces)),
    element("dl", {}, ...review.facts.flatMap(({ label, text: fact }) => [element("dt", {}, label), element("dd", {}, fact)])),
    ...choices.fields,
    ...(always === undefined ? [] : [always]),
    element("footer", { role: "toolbar", "aria-label": "Decide" }, ...choices.buttons.map(drawn)),
  );
  settle();
  main.querySelector<HTMLElement>("pre")?.focus();
}

function drawn({ label, other, clicked }: Choice): HTMLElement {
  const first = button(label, clicked);
  if (other === undefined) {
    return first;
  }
  const menu = element("details", { class: "other" }, element("summary", { "aria-label": `Besides ${label}` }, "▾"));
  menu.append(element("div", { class: "menu" }, button(other.label, other.clicked)));
  return element("span", { class: "split" }, first, menu);
}

function say(words: string): void {
  const place = document.getElementById("said");
  if (place !== null) {
    place.textContent = words;
    place.className = words === "" ? "" : "shown";
    if (words !== "") {
      place.scrollIntoView({ block: "nearest" });
    }
  }
}

let timer = 0;

function settle(): void {
  const buttons = (off: boolean): void =>
    main.querySelectorAll("button").forEach((one) => (one.disabled = off));
  clearTimeout(timer);
  buttons(true);
  timer = window.setTimeout(() => buttons(false), settling);
}

window.addEventListener("message", ({ data }: MessageEvent<Shown>) => {
  clearTimeout(late);
  switch (data.type) {
    case "show":
      return draw(data.review, data.said);
    case "say":
      return say(data.text);
  }
});
// All of the rule is seen, where there is room; what has moved under the mouse by that was not meant
main.addEventListener(
  "toggle",
  ({ target }) => {
    if (target instanceof HTMLDetailsElement && target.matches(".always[open]")) {
      settle();
      target.scrollIntoView({ block: "nearest" });
    }
  },
  true,
);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && settle());
window.addEventListener("focus", () => {
  if (document.activeElement === document.body) {
    main.querySelector<HTMLElement>("pre")?.focus();
  }
});
host.postMessage({ type: "ready" });
