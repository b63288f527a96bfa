// Rules and verdicts in words.
import type { AskedRule, Disposition, ExplainParams, ExplainResult, Rule } from "../protocol";
import { escapeLine } from "./escape";

/** `shell when /command is "date": runSync`. */
export function ruleText(rule: Rule | AskedRule): string {
  const matches = Object.entries(rule.match ?? {}).map(
    ([pointer, value]) => `${pointer === "" ? "the arguments" : pointer} is ${JSON.stringify(value)}`,
  );
  const when = matches.length === 0 ? "" : ` when ${matches.join(" and ")}`;
  return escapeLine(`${rule.tool}${when}: ${dispositionText(rule.disposition)}`);
}

export function dispositionText(disposition: Disposition): string {
  if (typeof disposition === "string") {
    return disposition;
  }
  if (disposition.tag === "decorate") {
    return `${dispositionText(disposition.inner)}, decorated`;
  }
  const reason = "reason" in disposition && disposition.reason !== undefined ? ` (${disposition.reason})` : "";
  return `${disposition.tag}${reason}`;
}

/** The verdict first, then every rule that was asked. */
export function explanation(asked: ExplainParams, { disposition, chain }: ExplainResult): string {
  const call = escapeLine(`${asked.tool} ${JSON.stringify(asked.arguments ?? {})}`);
  const links = chain.map(({ layer, rule, matched, why }) => {
    const mark = matched ? "→" : " ";
    const said = rule === null || rule === undefined ? "" : `\n      ${escapeLine(JSON.stringify(rule))}`;
    return `${mark} ${escapeLine(layer).padEnd(10)}${escapeLine(why)}${said}`;
  });
  return [call, `  ${escapeLine(dispositionText(disposition))}`, "", "Asked, in this order:", "", ...links, ""].join(
    "\n",
  );
}
