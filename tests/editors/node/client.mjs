// A client on Microsoft's vscode-jsonrpc, under remote control (tests/support/editors.py): one order a line.
// It is an editor with no plugin of ours, and, with `connect`, a client that speaks our methods.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const rpc = createRequire(process.env.EDITOR_NODE_MODULES)("vscode-jsonrpc/node");

const CAPABILITIES = {
  workspace: { applyEdit: true, workspaceEdit: { documentChanges: true }, workspaceFolders: true },
  window: { workDoneProgress: true, showDocument: { support: true }, showMessage: {} },
  textDocument: {
    synchronization: { didSave: true },
    completion: { completionItem: { snippetSupport: false } },
    hover: { contentFormat: ["markdown", "plaintext"] },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["", "quickfix"] } } },
    publishDiagnostics: {},
  },
};

const heard = []; // every notification: {method, params}
const said = [];
const asked = [];
const progress = [];
let choice = null;
let connection = null;
let child = null;
let initialized = null;
let failures = [];
const buffers = new Map(); // path -> {version, text}
let current = null;
let menu = [];
let hovered = "";
const diagnostics = new Map();
const cancellations = new Map();
const raw = []; // what a bare writer and reader of the library got

const uri = (path) => pathToFileURL(path).href;
const identifier = () => ({ uri: uri(current) });

function listen(streams) {
  connection = rpc.createMessageConnection(...streams);
  connection.onError(([error]) => failures.push(String(error)));
  connection.onClose(() => { connection = null; });
  connection.onUnhandledNotification(({ method, params }) => heard.push({ method, params }));
  connection.onNotification("window/showMessage", ({ message }) => { said.push(message); });
  connection.onNotification("textDocument/publishDiagnostics", (given) => {
    diagnostics.set(fileURLToPath(given.uri), given.diagnostics);
  });
  connection.onRequest("window/workDoneProgress/create", ({ token }) => {
    connection.onProgress(new rpc.ProgressType(), token, (value) => progress.push({ token, value }));
    return null;
  });
  connection.onRequest("window/showDocument", ({ uri: shown }) => { open(fileURLToPath(shown)); return { success: true }; });
  connection.onRequest("window/showMessageRequest", ({ message, actions }) => {
    asked.push({ prompt: message, choices: actions.map(({ title }) => title) });
    return actions.find(({ title }) => title === choice) ?? null;
  });
  connection.onRequest("workspace/applyEdit", ({ edit }) => { apply(edit); return { applied: true }; });
  connection.listen();
}

function start(...command) {
  child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
  return [new rpc.StreamMessageReader(child.stdout), new rpc.StreamMessageWriter(child.stdin)];
}

async function reach(path) {
  const socket = net.createConnection(path);
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return [new rpc.SocketMessageReader(socket), new rpc.SocketMessageWriter(socket)];
}

async function greet(capabilities, initializationOptions) {
  const root = process.env.ABEY_TEST_ROOT;
  initialized = await connection.sendRequest("initialize", {
    processId: process.pid, clientInfo: { name: "vscode-jsonrpc" }, rootUri: uri(root),
    workspaceFolders: [{ uri: uri(root), name: "work" }], capabilities, initializationOptions,
  });
  await connection.sendNotification("initialized", {});
  return initialized;
}

function apply(edit) {
  for (const change of edit.documentChanges ?? []) edited(fileURLToPath(change.textDocument.uri), change.edits);
  for (const [where, edits] of Object.entries(edit.changes ?? {})) edited(fileURLToPath(where), edits);
}

function edited(path, edits) {
  const text = buffers.get(path)?.text ?? readFileSync(path, "utf8");
  const starts = [0];
  for (const found of text.matchAll(/\n/g)) starts.push(found.index + 1);
  const at = ({ line, character }) => Math.min((starts[line] ?? text.length) + character, text.length);
  const ordered = [...edits].sort((one, other) => at(other.range.start) - at(one.range.start));
  change(path, ordered.reduce((whole, { range, newText }) => whole.slice(0, at(range.start)) + newText + whole.slice(at(range.end)), text));
}

function change(path, text) {
  if (!buffers.has(path)) return writeFileSync(path, text);
  const version = buffers.get(path).version + 1;
  buffers.set(path, { version, text });
  connection.sendNotification("textDocument/didChange", { textDocument: { uri: uri(path), version }, contentChanges: [{ text }] });
}

function open(path) {
  current = path;
  if (buffers.has(path)) return;
  const text = readFileSync(path, "utf8");
  buffers.set(path, { version: 1, text });
  const languageId = path.endsWith(".json") ? "json" : "markdown";
  connection.sendNotification("textDocument/didOpen", { textDocument: { uri: uri(path), languageId, version: 1, text } });
}

const outcome = (promise) => promise.then(
  (value) => ({ value: value ?? null }),
  (error) => ({ error: { code: error.code, message: error.message, data: error.data } }),
);

const verbs = {
  async open(path) {
    if (connection === null) {
      listen(start("abey-daemon", "--stdio"));
      buffers.clear();
      await greet(CAPABILITIES, JSON.parse(process.env.ABEY_TEST_OPTIONS));
    }
    open(path);
  },
  ready: () => initialized !== null,
  path: () => current ?? "",
  paths: () => [...buffers.keys()],
  text: () => buffers.get(current).text,
  refresh() {
    const text = readFileSync(current, "utf8");
    if (text !== buffers.get(current).text) change(current, text);
  },
  replace: (text) => change(current, text),
  save() {
    writeFileSync(current, buffers.get(current).text);
    connection.sendNotification("textDocument/didSave", { textDocument: identifier() });
  },
  diagnostics: () => (diagnostics.get(current) ?? []).map(({ range, message }) => [range.start.line, message]),
  async complete(line, character) {
    const found = await connection.sendRequest("textDocument/completion", { textDocument: identifier(), position: { line, character } });
    menu = (found?.items ?? found ?? []).map(({ label, insertText, textEdit }) => textEdit?.newText ?? insertText ?? label);
  },
  menu: () => menu,
  escape() {},
  async hover(line, character) {
    const found = await connection.sendRequest("textDocument/hover", { textDocument: identifier(), position: { line, character } });
    hovered = found?.contents?.value ?? "";
  },
  hovered: () => hovered,
  async act(title, line = 0) {
    const at = { line, character: 0 };
    const actions = await connection.sendRequest("textDocument/codeAction", {
      textDocument: identifier(), range: { start: at, end: at }, context: { diagnostics: [] },
    });
    asked.splice(0, asked.length, { prompt: "", choices: actions.map((one) => one.title) });
    const chosen = actions.find((one) => one.title === title);
    if (chosen?.edit) apply(chosen.edit);
    const command = typeof chosen?.command === "string" ? chosen : chosen?.command;
    if (command) await connection.sendRequest("workspace/executeCommand", { command: command.command, arguments: command.arguments });
  },
  async begin(title) { verbs.act(title).catch((error) => failures.push(String(error))); },
  choose(title) { choice = title; asked.length = 0; },
  asked: () => asked,
  command: (command, given) => connection.sendRequest("workspace/executeCommand", { command, arguments: given }),
  seen: () => [...buffers.keys(), ...said].join("\n"),
  messages: () => said,
  log: () => failures.join("\n"),
  quit() { setTimeout(() => process.exit(0)); },

  // for a client that speaks our methods
  async connect(way, capabilities, options) {
    listen(Array.isArray(way) ? start(...way) : await reach(way));
    return greet(capabilities, options);
  },
  request: (method, params) => outcome(params === null ? connection.sendRequest(method) : connection.sendRequest(method, params)),
  send(name, method, params, token) {
    const source = new rpc.CancellationTokenSource();
    if (token) connection.onProgress(new rpc.ProgressType(), token, (value) => progress.push({ token, value }));
    cancellations.set(name, { source, done: outcome(connection.sendRequest(method, params, source.token)) });
  },
  cancel: (name) => cancellations.get(name).source.cancel(),
  result: (name) => cancellations.get(name).done,
  heard: () => heard,
  progress: () => progress.map(({ value }) => (value.kind ? `${value.kind} ${value.title ?? ""}` : value)),
  failures: () => failures,
  async leave() {
    await connection.sendRequest("shutdown");
    await connection.sendNotification("exit");
    if (child) await new Promise((resolve) => child.exitCode === null ? child.once("exit", resolve) : resolve());
    return child?.exitCode ?? null;
  },
  // bare messages with ids of any kind, through the library's own writer and reader
  async bare(socket, messages) {
    const [reader, writer] = await reach(socket);
    const answers = [];
    const all = new Promise((resolve) => reader.listen((message) => {
      if ("id" in message) answers.push(message);
      if (answers.length === messages.length) resolve();
    }));
    for (const message of messages) await writer.write({ jsonrpc: "2.0", ...message });
    await all;
    writer.end();
    return answers.map(({ id, result, error }) => ({ id, ok: error === undefined, code: error?.code }));
  },
};

async function obey(line) {
  const { verb, arguments: given } = JSON.parse(line);
  try {
    return { value: (await verbs[verb](...given)) ?? null };
  } catch (error) {
    return { error: String(error?.message ?? error) };
  }
}

const link = net.createConnection(process.env.ABEY_TEST_SOCKET);
link.on("close", () => process.exit(0));
for await (const line of createInterface({ input: link })) link.write(JSON.stringify(await obey(line)) + "\n");
