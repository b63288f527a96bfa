// What the doctor found, as a text: what is wrong first.
import type { DoctorResult, Finding } from "../protocol";
import { escapeLine } from "./escape";

const order: readonly Finding["severity"][] = ["error", "warning", "info", "ok"];

export function doctorText({ findings }: DoctorResult): string {
  const sorted = order.flatMap((severity) => findings.filter((finding) => finding.severity === severity));
  const lines = sorted.flatMap(({ check, severity, message, advice }) => [
    `${severity.padEnd(8)}${escapeLine(check)}: ${escapeLine(message)}`,
    ...(advice === undefined ? [] : [`        → ${escapeLine(advice)}`]),
  ]);
  return `${lines.join("\n")}\n`;
}
