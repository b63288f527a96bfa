// What somebody has typed and not sent: it outlives a tab that is hidden, and a window that is loaded again.
interface Keeper {
  getState(): unknown;
  setState(state: unknown): void;
}

interface State {
  readonly token: string;
  readonly typed: Readonly<Record<string, string>>;
}

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

export class Drafts {
  private state: State = { token: "", typed: {} };

  constructor(private readonly keeper: Keeper) {}

  about(token: string): void {
    const kept = this.keeper.getState() as State | undefined;
    this.state = kept?.token === token ? kept : { token, typed: {} };
    this.keeper.setState(this.state);
  }

  /** Gives a control what was typed there, and keeps what will be. */
  keep<C extends Control>(name: string, control: C): C {
    const typed = this.state.typed[name];
    if (typed !== undefined) {
      control.value = typed;
    }
    control.addEventListener("input", () => {
      this.state = { ...this.state, typed: { ...this.state.typed, [name]: control.value } };
      this.keeper.setState(this.state);
    });
    return control;
  }
}
