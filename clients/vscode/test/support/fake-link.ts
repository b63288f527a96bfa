// A daemon for tests of what lasts: it says what it is told to say, and every request is kept.
import type { Dial, Link, Told } from "../../src/core/link";

export interface Asked {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Which connection it came on, from 1. */
  readonly connection: number;
}

type Answer = (asked: Asked, link: FakeLink) => unknown;

export class FakeLink implements Link {
  readonly build = "0.1.0";
  readonly stateDir = "/state";
  readonly closed: Promise<string>;
  private end: (why: string) => void = () => undefined;

  constructor(
    readonly number: number,
    readonly methods: readonly string[],
    private readonly hear: Answer,
    readonly told: Told,
  ) {
    this.closed = new Promise((resolve) => (this.end = resolve));
  }

  async request(method: string, params: unknown): Promise<unknown> {
    return this.hear({ method, params: params as Asked["params"], connection: this.number }, this);
  }

  break(why = "killed"): void {
    this.end(why);
  }

  async close(): Promise<void> {
    this.end("closed");
  }
}

export class FakeMachine {
  readonly asked: Asked[] = [];
  readonly links: FakeLink[] = [];
  /** Thrown by the next dials, in order. */
  readonly refusals: Error[] = [];

  constructor(private readonly answer: Answer) {}

  readonly dial: Dial = async (told) => {
    const refusal = this.refusals.shift();
    if (refusal !== undefined) {
      throw refusal;
    }
    const hear: Answer = (asked, link) => {
      this.asked.push(asked);
      return this.answer(asked, link);
    };
    const link = new FakeLink(this.links.length + 1, ["agents/start", "agents/step"], hear, told);
    this.links.push(link);
    return link;
  };
}
