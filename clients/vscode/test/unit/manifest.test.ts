// What package.json promises: every command, hidden where the daemon lacks its method, and no setting of the workspace's.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { test } from "node:test";
import { agents } from "../../src/protocol";

interface Entry {
  readonly command: string;
  readonly title?: string;
  readonly category?: string;
  readonly enablement?: string;
  readonly when?: string;
  readonly group?: string;
  readonly key?: string;
}

interface Manifest {
  readonly contributes: {
    readonly commands: readonly Entry[];
    readonly keybindings: readonly Entry[];
    readonly menus: Readonly<Record<string, readonly Entry[]>>;
    readonly views: Readonly<Record<string, readonly { readonly id: string }[]>>;
    readonly configuration: { readonly properties: Readonly<Record<string, { readonly scope: string }>> };
  };
}

const text = readFileSync("package.json", "utf8");
const { commands, keybindings, menus, views, configuration } = (JSON.parse(text) as Manifest).contributes;
const { commandPalette = [], ...places } = menus;
const palette = new Map(commandPalette.map(({ command, when }) => [command, when]));
const enablement = new Map(commands.map(({ command, enablement: when }) => [command, when]));

test("a command is hidden where the daemon lacks its method", () => {
  const wrong = commands.filter(({ command, enablement: needs }) => {
    const when = palette.get(command);
    return needs !== undefined && when !== needs && when !== "false";
  });
  assert.deepEqual(wrong, []);
  const verbs = [...text.matchAll(/abey\.has\.(\w+)/g)].map(([, verb = ""]) => verb);
  assert.deepEqual(verbs.filter((verb) => !(verb in agents)), []);
});

test("every command has a title, our category and a place in the palette, or a reason to be in none", () => {
  assert.deepEqual(commands.filter(({ title, category }) => !title || category !== "Abey"), []);
  const names = commands.map(({ command }) => command);
  assert.deepEqual(names, [...names].sort());
  assert.deepEqual(names.filter((name) => !/^abey\.[a-z][A-Za-z]*$/.test(name)), []);
  const hidden = names.filter((name) => palette.get(name) === "false");
  const nothingToBeAbout = ["openAgent", "showMore", "wsl"];
  const ofATitleBar = ["approveEdited", "approveEditedAndContinue", "approveReview", "approveReviewAndContinue", "denyReview", "editReview", "reviewDetails"];
  assert.deepEqual(hidden, [...nothingToBeAbout, ...ofATitleBar].map((verb) => `abey.${verb}`).sort());
  // Without a method they can always be asked for
  const always = names.filter((name) => !palette.has(name));
  assert.deepEqual(always.filter((name) => enablement.get(name) !== undefined), []);
});

test("menus and keys are about commands that there are, and only while the daemon has their method", () => {
  const placed = [...Object.values(places).flat(), ...keybindings];
  assert.deepEqual(placed.filter(({ command }) => !enablement.has(command)), []);
  // A title bar of a review, and a row of a call, are there only where the daemon has said what waits
  const known = /resourceScheme == abey-review|args\\\.json|view == abey\.pending/;
  const unguarded = placed.filter(({ command, when = "" }) => {
    const needs = enablement.get(command);
    return needs !== undefined && !when.includes(needs) && !known.test(when);
  });
  assert.deepEqual(unguarded, []);
});

test("where one looks for a command it is: in views, rows, panels, reviews and the editor", () => {
  const at = (place: string, where: string): readonly string[] =>
    [...new Set((places[place] ?? []).filter(({ when = "" }) => when.includes(where)).map(({ command }) => command.replace("abey.", "")))].sort();
  assert.deepEqual((views["abey"] ?? []).map(({ id }) => id), ["abey.pending", "abey.sessions", "abey.agents"]);
  assert.deepEqual(at("view/item/context", "view == abey.pending"), [
    ...["approve", "approveAndContinue", "complete", "deny", "editArguments", "explain", "open", "review"],
  ]);
  assert.deepEqual(at("view/item/context", "view == abey.sessions"), [
    ...["cancel", "export", "fork", "interrupt", "journal", "open", "pause", "resume", "rewind", "rules", "run", "send", "step", "stop"],
  ]);
  assert.deepEqual(at("view/item/context", "view == abey.agents"), ["openAgent", "start", "trust"]);
  const session = ["explain", "export", "fork", "journal", "rewind", "rules", "stop"];
  assert.deepEqual(at("editor/title", "activeWebviewPanelId == abey.session"), session);
  assert.deepEqual(at("webview/context", "webviewId == 'abey.session'"), [...session, "cancel", "pause", "run", "step"].sort());
  assert.deepEqual(at("webview/context", "webviewId == 'abey.review'"), ["editArguments", "open"]);
  for (const place of ["editor/context", "editor/title/context", "explorer/context"]) {
    assert.deepEqual(at(place, "abey.has.start"), ["startWithSelection"]);
  }
});

test("what decides a call both ways has one of them in the title bar and the other in its menu", () => {
  for (const [one, other] of [["approveReview", "approveReviewAndContinue"], ["approveEdited", "approveEditedAndContinue"]]) {
    const shown = (command: string | undefined): readonly unknown[] =>
      (places["editor/title"] ?? [])
        .filter((entry) => entry.command === `abey.${command}`)
        .map(({ when = "", group }) => [when.includes("!abey.reviewContinues"), group]);
    assert.deepEqual(shown(one), [[true, "navigation@1"], [false, "2_abey@1"]]);
    assert.deepEqual(shown(other), [[true, "2_abey@1"], [false, "navigation@1"]]);
  }
});

test("no key decides a call, and no key is about nothing", () => {
  assert.deepEqual(
    keybindings.map(({ command, key }) => `${key} ${command}`),
    [
      "ctrl+alt+a abey.pending",
      "ctrl+alt+n abey.start",
      "ctrl+alt+s abey.step",
      "ctrl+alt+r abey.run",
      "ctrl+alt+p abey.pause",
      "ctrl+alt+c abey.cancel",
      "ctrl+alt+f abey.search",
    ],
  );
});

test("the palette has every command that there is to be", () => {
  const shown = commands.filter(({ command }) => palette.get(command) !== "false");
  const titles = new Set(shown.map(({ title = "" }) => title.replace("…", "")));
  const promised = [
    ...["Start Session", "Start Session with Selection or File", "Step", "Run", "Pause", "Resume", "Send"],
    ...["Send Before Next Step", "Cancel", "Close Session for Good", "Approve", "Deny", "Edit Arguments"],
    ...["Complete with Result", "Show Pending", "Open Session", "Search Sessions", "Fork", "Rewind"],
    ...["Export as Markdown", "New Agent", "Explain Policy", "Manage Rules", "Open Journal", "Restart Daemon"],
    ...["Show Log", "Doctor"],
  ];
  assert.deepEqual(promised.filter((title) => !titles.has(title)), []);
});

test("no folder sets which program is started", () => {
  assert.deepEqual(Object.entries(configuration.properties).map(([name, { scope }]) => [name, scope]), [["abey.daemonPath", "machine"]]);
});

test("at run time nothing is needed but VS Code and its Node", () => {
  const { dependencies, extensionDependencies } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  assert.deepEqual([dependencies, extensionDependencies], [undefined, undefined]);
  const bundle = readFileSync("dist/extension.js", "utf8");
  const asked = [...bundle.matchAll(/\brequire\(["']([^"']+)["']\)/g)].map(([, name = ""]) => name.replace(/^node:/, ""));
  assert.ok(asked.includes("vscode"));
  assert.deepEqual([...new Set(asked)].filter((name) => name !== "vscode" && !builtinModules.includes(name)), []);
});
