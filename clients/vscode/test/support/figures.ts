// How long something took, many times, in words.

/** Of times in milliseconds. */
export function spread(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (part: number): string => `${Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)} ms`;
  return `median ${at(0.5)}, p95 ${at(0.95)} of ${sorted.length}`;
}
