// *Always*: the rule that would be kept is shown as it is, and can be made narrower before it is.
import { readJson } from "../../core/form";
import type { Decided, Review } from "../../core/review";
import type { AskedRule } from "../../protocol";
import { button, element, labelled } from "./dom";
import type { Drafts } from "./drafts";

/** Undefined where there is no rule that would be narrow enough. */
export function alwaysPart(
  review: Review,
  drafts: Drafts,
  decide: (decided: Omit<Decided, "argumentsHash">) => void,
  say: (words: string) => void,
): HTMLElement | undefined {
  const [narrowest] = review.suggestions;
  if (narrowest === undefined) {
    return undefined;
  }
  const rule = element("textarea", { spellcheck: "false", class: "rule" });
  // All of it is seen
  const fit = (): void => void (rule.rows = rule.value.split("\n").length + 1);
  rule.value = narrowest.rule;
  drafts.keep("rule", rule).addEventListener("input", fit);
  fit();
  const options = review.suggestions.map(({ label }, at) => {
    const radio = element("input", { type: "radio", name: "suggestion", value: String(at) });
    radio.checked = rule.value === review.suggestions[at]?.rule;
    radio.addEventListener("change", () => {
      rule.value = review.suggestions[at]?.rule ?? "";
      rule.dispatchEvent(new Event("input"));
    });
    return element("label", { class: "suggestion" }, radio, element("span", {}, label));
  });
  const kept = (): void => {
    const read = readJson(rule.value);
    "problem" in read
      ? say(read.problem)
      : decide({ outcome: { kind: "approve" }, resume: review.continues, rule: read.value as AskedRule });
  };
  return element(
    "details",
    { class: "always" },
    element("summary", {}, "Always…"),
    element("p", {}, "Calls that fit this rule run from now on without being asked about; those that wait already, too. ", "It can be narrowed before it is kept, and removed with Manage Rules."),
    element("div", { role: "radiogroup", "aria-label": "How far the rule reaches" }, ...options),
    labelled("The rule that is kept", rule),
    button(review.continues ? "Keep Rule, Approve and Continue" : "Keep Rule and Approve", kept),
  );
}
