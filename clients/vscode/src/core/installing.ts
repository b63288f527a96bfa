// The line that a terminal runs to install the daemon.
export type Installer = "uv" | "pipx" | "venv";

/** `what`: the name of the package, or the path of a wheel. */
export function installLine(installer: Installer, what: string, venv: string): string {
  switch (installer) {
    case "uv":
      return `uv tool install ${quoted(what)}`;
    case "pipx":
      return `pipx install ${quoted(what)}`;
    case "venv":
      return `python3 -m venv ${quoted(venv)} && ${quoted(`${venv}/bin/pip`)} install ${quoted(what)}`;
  }
}

/** For a POSIX shell: a name that a shell could read otherwise is quoted. */
export function quoted(word: string): string {
  return /^[\w./+@:=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
