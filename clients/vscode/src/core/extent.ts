// Which rows of a long list are in sight, from the heights that are known and a guess for the others.

export interface Range {
  readonly from: number;
  readonly to: number;
}

export class Extent {
  private readonly tops: number[];

  /** `heights` in order, in pixels. */
  constructor(heights: readonly number[]) {
    this.tops = [0];
    heights.forEach((height, at) => this.tops.push((this.tops[at] ?? 0) + height));
  }

  get length(): number {
    return this.tops.length - 1;
  }

  get total(): number {
    return this.top(this.length);
  }

  /** Where row `at` begins. */
  top(at: number): number {
    return this.tops[Math.max(0, Math.min(at, this.length))] ?? 0;
  }

  /** The row at `y`, the nearest one where there is none. */
  at(y: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.top(middle + 1) > y) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return Math.max(0, Math.min(low, this.length - 1));
  }

  /** The rows from `top` to `bottom` with `beyond` pixels on both sides: at most `most`, those in sight first. */
  range(top: number, bottom: number, beyond: number, most: number): Range {
    if (this.length === 0) {
      return { from: 0, to: 0 };
    }
    let from = this.at(top);
    let to = Math.min(this.at(Math.max(top, bottom - 1)) + 1, from + most);
    while (to - from < most) {
      const above = from > 0 && this.top(from) > top - beyond;
      const below = to < this.length && this.top(to) < bottom + beyond;
      if (!above && !below) {
        break;
      }
      from -= above ? 1 : 0;
      to += below && to - from < most ? 1 : 0;
    }
    return { from, to };
  }
}
