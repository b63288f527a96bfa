// The embedded agent of the walkthrough: it plays a script, asks once, and needs no key.
export const demoPrompt = "What is in this folder, and what time is it?";

export const demoAgent = {
  slug: "demo",
  description: "Shows a call that waits",
  systemPrompt: "You answer questions about a folder and a clock.",
  model: {
    provider: "scripted",
    loop: true,
    script: [
      {
        text: "I list the folder, and ask the shell for the time. The first needs nobody; the second waits for you.",
        chunkMs: 20,
        calls: [
          { tool: "list_folder", arguments: {} },
          { tool: "shell", arguments: { command: "date" } },
        ],
      },
      {
        text: [
          "That is done: the folder was listed at once, and the clock was for you to decide.",
          "",
          "- A call that waits is **on disk**. Close this window, or the machine: it waits on.",
          "- Whoever is first answers it: this editor, another one, or `abey session approve` in a terminal.",
          "- What runs is exactly what was shown, or what you made of it.",
          "",
          "Write another message below. See it again step by step with *Step*.",
        ].join("\n"),
        // Long enough to load the window again meanwhile
        chunkMs: 120,
      },
    ],
  },
  executionMode: "asynchronous",
  toolCallPolicy: {
    default: "runSync",
    rules: [{ tool: "shell", disposition: { tag: "defer", reason: "it may change anything" } }],
  },
  tools: [
    {
      kind: "command",
      name: "list_folder",
      description: "Lists the folder",
      parameters: { type: "object", properties: {} },
      argv: ["ls"],
    },
    {
      kind: "command",
      name: "shell",
      description: "Runs a shell command",
      parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
      argv: ["sh", "-c", "{command}"],
    },
  ],
} as const;
