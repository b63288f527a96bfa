// What the page of a session asks for, asked of the daemon.
import { agents, type CompleteParams, type Session } from "../protocol";
import { AbeyError, type Daemon } from "./daemon";
import type { Frame, FromPage, PageState, Point, Receipt, Verb } from "./page";
import { errorText } from "./wording";

/** What the panel needs of VS Code. */
export interface Surroundings {
  post(frame: Frame): void;
  openReview(token: string): void;
  openSession(sessionId: string): void;
  /** Shows all that a call has printed, in an editor. */
  openOutput(callId: string): void;
  openLink(href: string): void;
  keep(state: PageState): void;
  /** The session has another title, escaped. */
  titled(title: string): void;
}

interface Told {
  session(): Session | undefined;
  /** The revision at which a call and those beside it had results. */
  resultsAt(callId: string): Promise<number>;
  received(receipt: Receipt): void;
  /** What was asked for last has failed, or has not. */
  troubled(problem: unknown): void;
}

export type Asked = Exclude<FromPage, { kind: "ready" | "painted" | "older" }>;

export class PanelActions {
  constructor(
    private readonly daemon: Daemon,
    private readonly sessionId: string,
    private readonly around: Surroundings,
    private readonly told: Told,
    /** The texts of inputs, by their ids. */
    private readonly inputs: Map<string, string>,
  ) {}

  receive(asked: Asked): void {
    switch (asked.kind) {
      case "verb":
        return this.ask(() => this.verb(asked.verb));
      case "send":
        return void this.send(asked);
      case "withdraw":
        return this.ask(() => this.daemon.request(agents.withdraw, { ...this.mine, inputId: asked.inputId }));
      case "review":
        return this.around.openReview(asked.token);
      case "approve":
        return this.ask(() => this.approve(asked));
      case "deny":
        return this.ask(() => this.answer({ token: asked.token, outcome: { kind: "deny" }, resume: this.wasRun }));
      case "fork":
        return this.ask(() => this.from(asked.at, (at) => this.fork(at)));
      case "rewind":
        return this.ask(() => this.from(asked.to, (to) => this.daemon.request(agents.rewind, { ...this.mine, to })));
      case "output":
        return this.around.openOutput(asked.callId);
      case "session":
        return this.around.openSession(asked.sessionId);
      case "link":
        return this.link(asked.href);
      case "keep":
        return this.around.keep(asked.state);
    }
  }

  private get mine(): { readonly sessionId: string } {
    return { sessionId: this.sessionId };
  }

  /** As the session was driven last: by a run it goes on, by steps it does not. */
  private get wasRun(): boolean {
    return this.told.session()?.drivenBy === "run";
  }

  private ask(request: () => Promise<unknown>): void {
    this.told.troubled(undefined);
    request().catch((problem: unknown) => {
      // The session tells of a failed model call itself
      if (!(problem instanceof AbeyError && problem.kind.startsWith("model/"))) {
        this.told.troubled(problem);
      }
    });
  }

  private verb(verb: Verb): Promise<unknown> {
    switch (verb) {
      case "step":
        return this.daemon.request(agents.step, this.mine);
      case "run":
        return this.daemon.request(agents.run, { ...this.mine, wait: false });
      case "resume":
        return this.daemon.request(agents.resume, { ...this.mine, wait: false });
      case "continue":
        return this.daemon.request(agents.continue, { ...this.mine, run: "turn", wait: false });
      case "pause":
        return this.daemon.request(agents.pause, this.mine);
      case "cancel":
        return this.daemon.request(agents.cancel, this.mine);
    }
  }

  private async send({ inputId, text, delivery, run }: Extract<Asked, { kind: "send" }>): Promise<void> {
    this.inputs.set(inputId, text);
    try {
      const driving = run === "none" ? { run } : { run, wait: false };
      await this.daemon.request(agents.send, { ...this.mine, inputId, prompt: text, delivery, ...driving });
      this.told.received({ inputId });
    } catch (problem) {
      this.inputs.delete(inputId);
      this.told.received({ inputId, problem: errorText(problem) });
    }
  }

  /** What would run by now is shown where it is another than was shown. */
  private async approve({ token, argumentsHash, resume }: Extract<Asked, { kind: "approve" }>): Promise<void> {
    try {
      await this.answer({ token, argumentsHash, outcome: { kind: "approve" }, resume });
    } catch (problem) {
      if (problem instanceof AbeyError && problem.kind === "arguments/mismatch") {
        this.around.openReview(token);
      }
      throw problem;
    }
  }

  /** Whoever was first counts, and is named. */
  private async answer(params: CompleteParams): Promise<void> {
    const { applied, resolution } = await this.daemon.request(agents.complete, { ...params, wait: false });
    if (!applied) {
      this.told.troubled(new Error(`already answered: ${resolution.text}`));
    }
  }

  /** At once where the revision is known: requests keep the order in which the page asked. */
  private from(point: Point, ask: (revision: number) => Promise<unknown>): Promise<unknown> {
    return "revision" in point ? ask(point.revision) : this.told.resultsAt(point.resultsOf).then(ask);
  }

  private async fork(at: number): Promise<void> {
    const session = await this.daemon.request(agents.fork, { ...this.mine, at });
    this.around.openSession(session.sessionId);
  }

  private link(href: string): void {
    if (/^https?:\/\//i.test(href)) {
      this.around.openLink(href);
    }
  }
}
