// Something that is read whole, and again where it may have changed meanwhile.

/** At most one reading at a time; of the calls that come while it reads, all are met by one more. */
export class Reading {
  private wanted = false;
  private running = false;

  /** `read` fails never: it says itself what went wrong. */
  constructor(private readonly read: () => Promise<void>) {}

  again(): void {
    this.wanted = true;
    if (!this.running) {
      void this.run();
    }
  }

  private async run(): Promise<void> {
    this.running = true;
    while (this.wanted) {
      this.wanted = false;
      await this.read();
    }
    this.running = false;
  }
}
