// Listeners, without `vscode`: what one of them throws is no other's business, and no sender's.
import type { Disposable } from "./daemon";

export class Emitter<T> {
  private readonly listeners = new Set<(value: T) => void>();

  constructor(private readonly failed: (problem: unknown) => void = reportLater) {}

  readonly on = (listener: (value: T) => void): Disposable => {
    // A listener that is added twice is told twice
    const own = (value: T): void => listener(value);
    this.listeners.add(own);
    return { dispose: () => void this.listeners.delete(own) };
  };

  fire(value: T): void {
    for (const listener of [...this.listeners]) {
      try {
        listener(value);
      } catch (problem) {
        this.failed(problem);
      }
    }
  }
}

function reportLater(problem: unknown): void {
  queueMicrotask(() => {
    throw problem;
  });
}
