// Where the daemon's program is, and whether there is any reason to start it. Never inside the workspace: what is
// there was chosen by whoever wrote it.
import { accessSync, constants, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, sep } from "node:path";

export const programName = "abey-daemon";

type Env = Readonly<Record<string, string | undefined>>;

export interface Surroundings {
  readonly env: Env;
  readonly home: string;
  /** `abey.daemonPath`; empty where nothing is set. */
  readonly configured: string;
  /** Folders of the workspace. One that holds the home folder says nothing of who wrote what is in it. */
  readonly folders: readonly string[];
}

export type Located = { readonly path: string } | { readonly missing: string };

/** What is configured is used or nothing is: another program would be a surprise. */
export function locate({ folders, ...rest }: Surroundings): Located {
  const around = { ...rest, folders: folders.filter((folder) => !isInside(rest.home, [folder])) };
  const configured = around.configured.trim();
  if (configured !== "") {
    const path = configured.startsWith(`~${sep}`) ? join(around.home, configured.slice(2)) : configured;
    return usable(path, around.folders)
      ? { path }
      : { missing: `abey.daemonPath is no program outside of this workspace: ${path}` };
  }
  const path = places(around)
    .map((folder) => join(folder, programName))
    .find((path) => usable(path, around.folders));
  return path === undefined ? { missing: `${programName} was not found` } : { path };
}

/** Folders in the order in which they are looked at. */
function places({ env, home }: Surroundings): readonly string[] {
  const data = absolute(env["XDG_DATA_HOME"]) ?? join(home, ".local", "share");
  const optional = [env["UV_TOOL_BIN_DIR"], env["XDG_BIN_HOME"], env["PIPX_BIN_DIR"]];
  const pipx = [absolute(env["PIPX_HOME"]), join(data, "pipx"), join(home, ".local", "pipx")];
  return [
    ...(env["PATH"] ?? "").split(delimiter),
    join(home, ".local", "bin"),
    ...optional.map((folder) => folder ?? ""),
    join(absolute(env["UV_TOOL_DIR"]) ?? join(data, "uv", "tools"), "abey", "bin"),
    ...pipx.flatMap((folder) => (folder === undefined ? [] : [join(folder, "venvs", "abey", "bin")])),
    join(venvFolder(env, home), "bin"),
  ].filter(isAbsolute);
}

/** Where the extension offers to install the daemon where there is neither uv nor pipx. */
export function venvFolder(env: Env, home: string): string {
  return join(absolute(env["XDG_DATA_HOME"]) ?? join(home, ".local", "share"), "abey", "venv");
}

/** As the daemon has it: `$ABEY_STATE_DIR`, else `$XDG_STATE_HOME/abey`, else `~/.local/state/abey`. */
export function stateDir(env: Env, home: string): string {
  return (
    absolute(env["ABEY_STATE_DIR"]) ?? join(absolute(env["XDG_STATE_HOME"]) ?? join(home, ".local", "state"), "abey")
  );
}

/** `$ABEY_CONFIG_DIR`, else `$XDG_CONFIG_HOME/abey`, else `~/.config/abey`. */
export function configDir(env: Env, home: string): string {
  return absolute(env["ABEY_CONFIG_DIR"]) ?? join(absolute(env["XDG_CONFIG_HOME"]) ?? join(home, ".config"), "abey");
}

/** Whether a daemon runs, or left sessions: else nothing is started until somebody needs it. */
export function isUsed(state: string): boolean {
  if (existsSync(join(state, "daemon.addr"))) {
    return true;
  }
  try {
    return readdirSync(join(state, "sessions")).length > 0;
  } catch {
    // No folder, or none that we may read: either way nothing to show
    return false;
  }
}

/** Whether `path`, or what it leads to, is in one of the folders. */
export function isInside(path: string, folders: readonly string[]): boolean {
  const ways = [path, real(path)];
  return folders
    .flatMap((folder) => [folder, real(folder)])
    .some((folder) =>
      ways.some((way) => way === folder || way.startsWith(folder.endsWith(sep) ? folder : folder + sep)),
    );
}

function usable(path: string, folders: readonly string[]): boolean {
  if (!isAbsolute(path) || isInside(path, folders)) {
    return false;
  }
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}
