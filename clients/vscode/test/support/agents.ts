// Agents for the tests: each plays a script, so that no model is asked.
export interface Call {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface Entry {
  readonly text?: string;
  readonly thinking?: string;
  readonly calls?: readonly Call[];
  readonly delayMs?: number;
  readonly chunkMs?: number;
}

const shell = {
  kind: "command",
  name: "bash_command",
  description: "Runs a shell command",
  parameters: {
    type: "object",
    properties: {
      command: { type: "string", description: "What to run" },
      timeout: { type: "integer", minimum: 1, description: "Seconds" },
    },
    required: ["command"],
    additionalProperties: false,
  },
  argv: ["bash", "-c", "{command}"],
};

const look = {
  kind: "external",
  name: "ask_version",
  description: "Asks a person for the version",
  parameters: { type: "object", properties: { question: { type: "string" } } },
};

/** Everything waits that it wants to do. */
export function asking(...script: readonly Entry[]): Readonly<Record<string, unknown>> {
  return {
    description: "Asks before it does anything",
    systemPrompt: ["Ask."],
    model: { provider: "scripted", script },
    toolCallPolicy: { default: { tag: "defer", reason: "approval required" } },
    tools: [shell, look, { kind: "workspace", allow: ["read_file", "write_file", "edit_file"] }],
  };
}

/** As `asking`, but for a first step that goes on until there is a file `go.txt`. */
export function lasting(...script: readonly Entry[]): Readonly<Record<string, unknown>> {
  const { tools, ...agent } = asking({ text: "I wait.", calls: [{ tool: "wait", arguments: {} }] }, ...script);
  const wait = { kind: "command", name: "wait", description: "Waits", argv: ["sh", "-c", "until [ -e go.txt ]; do sleep 0.1; done"] };
  return {
    ...agent,
    toolCallPolicy: { default: "defer", rules: [{ tool: "wait", disposition: "runSync" }] },
    tools: [...(tools as readonly unknown[]), wait],
  };
}

export const bash = (command: string): Call => ({ tool: "bash_command", arguments: { command } });
export const writes = (path: string, content: string): Call => ({ tool: "write_file", arguments: { path, content } });
export const edits = (path: string, old_text: string, new_text: string): Call => ({
  tool: "edit_file",
  arguments: { path, old_text, new_text },
});
export const asksVersion = (question: string): Call => ({ tool: "ask_version", arguments: { question } });
