// One post a frame: what changes while the page paints waits for the next one.

/** What a frame holds before it is numbered. */
export class Frames<F extends object> {
  private sent = 0;
  private painted = 0;
  private due = false;
  private planned = false;
  private ready = false;

  /** `build` gives what is to be told now, or nothing; `later` runs a function soon, once for many changes. */
  constructor(
    private readonly build: () => F | undefined,
    private readonly post: (frame: F & { readonly n: number }) => void,
    private readonly later: (run: () => void) => void = (run) => void setImmediate(run),
  ) {}

  /** How many frames were posted, for tests. */
  get count(): number {
    return this.sent;
  }

  /** The page is there, and has been told nothing; what an earlier page of this panel was told does not count. */
  begin(): void {
    this.ready = true;
    this.painted = this.sent;
    this.changed();
  }

  /** There is no page. */
  end(): void {
    this.ready = false;
  }

  changed(): void {
    this.due = true;
    if (this.ready && this.painted === this.sent && !this.planned) {
      this.planned = true;
      this.later(() => this.flush());
    }
  }

  /** The page has painted frame `n`. */
  paint(n: number): void {
    if (n === this.sent) {
      this.painted = n;
      if (this.due) {
        this.flush();
      }
    }
  }

  private flush(): void {
    this.planned = false;
    if (!this.ready || this.painted !== this.sent) {
      return;
    }
    this.due = false;
    const frame = this.build();
    if (frame !== undefined) {
      this.sent += 1;
      this.post({ ...frame, n: this.sent });
    }
  }
}
