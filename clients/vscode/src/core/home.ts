// Paths as a shell of the user would have them.

/** With `~` for the home folder, which is known, and long. */
export function homely(path: string, home: string): string {
  return path === home ? "~" : path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
