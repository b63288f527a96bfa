// Waiting for what is to be, never for a time to pass.

/** In milliseconds: what takes so long on a busy machine never comes. */
export const patienceMs = 60_000;

/** Until `there` gives something that counts; what it gave. Fails with `what` after `patience` milliseconds. */
export async function until<T>(what: string, there: () => Promise<T> | T, patience = patienceMs): Promise<NonNullable<T>> {
  const end = Date.now() + patience;
  for (;;) {
    const found = await there();
    if (found) {
      return found;
    }
    if (Date.now() > end) {
      throw new Error(`not within ${patience} ms: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
