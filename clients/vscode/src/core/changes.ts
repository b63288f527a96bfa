// What has changed in a list of rows since somebody looked last, so that only that is sent on.

/** To be applied in order: `splice` puts `ids` where `remove` rows stood, `put` is another state of a row. */
export type Change =
  | { readonly kind: "splice"; readonly at: number; readonly remove: number; readonly ids: readonly string[] }
  | { readonly kind: "put"; readonly id: string }
  | { readonly kind: "append"; readonly id: string; readonly text: string };

/** Rows that come in, or are put, are told whole: whatever happened to them until they are taken is told with them. */
export class Changes {
  private told: readonly string[] = [];
  private moved = false;
  private readonly whole = new Set<string>();
  private readonly appended = new Map<string, string>();

  /** The order of the rows is another one. */
  move(): void {
    this.moved = true;
  }

  put(id: string): void {
    this.whole.add(id);
    this.appended.delete(id);
  }

  append(id: string, text: string): void {
    if (text !== "" && !this.whole.has(id)) {
      this.appended.set(id, (this.appended.get(id) ?? "") + text);
    }
  }

  /** What leads from the order that was taken last to `order`. */
  take(order: readonly string[]): readonly Change[] {
    const changes: Change[] = [];
    const fresh = new Set<string>();
    if (this.moved) {
      const splice = difference(this.told, order);
      splice.ids.forEach((id) => fresh.add(id));
      this.told = [...order];
      if (splice.remove > 0 || splice.ids.length > 0) {
        changes.push(splice);
      }
    }
    const rest = (id: string): boolean => !fresh.has(id);
    changes.push(...[...this.whole].filter(rest).map((id): Change => ({ kind: "put", id })));
    changes.push(...[...this.appended].filter(([id]) => rest(id)).map(([id, text]): Change => ({ kind: "append", id, text })));
    this.moved = false;
    this.whole.clear();
    this.appended.clear();
    return changes;
  }
}

function difference(before: readonly string[], after: readonly string[]): Change & { kind: "splice" } {
  const shorter = Math.min(before.length, after.length);
  let at = 0;
  while (at < shorter && before[at] === after[at]) {
    at += 1;
  }
  let end = 0;
  while (end < shorter - at && before[before.length - 1 - end] === after[after.length - 1 - end]) {
    end += 1;
  }
  return { kind: "splice", at, remove: before.length - at - end, ids: after.slice(at, after.length - end) };
}
