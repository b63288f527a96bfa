"""What every field and word of an agent file means, in a line or two of Markdown: for the JSON schema, the hover and
the completion alike."""

from collections.abc import Mapping

FIELDS: Mapping[str, Mapping[str, str]] = {
    "Wire": {"tag": "What it is."},
    "AgentConfig": {
        "slug": "The agent's name for commands: 1 to 64 of `0-9 a-z _ -`, the first no sign.",
        "description": "What the agent is for, in a line for people.",
        "systemPrompt": "What the model is told before everything else: a string, or a list of lines.",
        "model": "Which model is asked, and how.",
        "executionMode": "Whether `abey run` may leave calls waiting for somebody.",
        "toolCallPolicy": "What happens to each call of a tool: rules, and a default.",
        "toolCallPolicyConfig": "An older name of `toolCallPolicy`.",
        "tools": "The tools that the model may call.",
        "limits": "How far a turn or a session may go.",
        "outputSchema": "A JSON schema that the final answer of every turn has to fit: it is JSON then, nothing else.",
        "compaction": "When a long history is summed up, and how much of it stays as it is.",
    },
    "HttpModel": {
        "provider": "Which API the model is asked through.",
        "name": "The model's name, as the provider has it.",
        "baseUrl": "An http or https URL in place of the provider's own, such as `http://localhost:11434/v1`.",
        "apiKey": "Where the key is found, never the key itself. Without it, the provider's usual variable.",
        "parameters": "Members of the request as the provider has them. They win over what abey would send; null "
        "takes that away.",
        "prices": "What a million tokens cost, for `maxCost` and the cost that is shown.",
    },
    "ScriptedModel": {
        "provider": "Which API the model is asked through.",
        "name": "Kept; without effect.",
        "script": "The answers, one entry a try at a model call; or the name of a JSON file with such a list, "
        "relative to this file.",
        "loop": "Whether the script begins again at its end.",
        "prices": "Kept; without effect.",
    },
    "ApiKey": {
        "env": "The name of an environment variable that holds the key.",
        "file": "A file that holds the key and that nobody else can read, relative to this file.",
        "keyring": "An entry of the system's keyring: a name for the service `abey`, or `service/name`.",
        "id": "The id of a key in `keys.json` in the configuration folder.",
    },
    "Prices": {
        "input": "Of a million input tokens.",
        "output": "Of a million output tokens.",
        "cachedInput": "Of a million input tokens that came out of a cache.",
        "date": "When the prices were looked up; for people.",
    },
    "ScriptEntry": {
        "text": "The answer.",
        "thinking": "What the model thinks before it.",
        "calls": "Tool calls, in order.",
        "finishReason": "Why the answer ended; `tool_calls` with calls, else `stop`.",
        "usage": "The tokens that the answer says it used.",
        "delayMs": "Milliseconds before the first token.",
        "chunkMs": "Milliseconds between two tokens.",
        "error": "A failure of the model, instead of an answer.",
        "cutAfter": "The stream breaks after so many characters.",
        "echo": "The answer is the last input, instead of `text`.",
    },
    "ScriptedCall": {
        "tool": "The tool that is called.",
        "arguments": "Any JSON, also what the tool's schema refuses.",
        "rawArguments": "A text that is sent as it is, instead of `arguments`.",
        "id": "The call's id; `call_<try>_<n>` where there is none.",
    },
    "ScriptedUsage": {"input": "Input tokens.", "output": "Output tokens."},
    "ScriptedError": {
        "code": "The kind of failure, a `model/…` error.",
        "message": "What it says.",
        "retryAfterMs": "Milliseconds that the provider asks to be left alone.",
    },
    "Policy": {
        "default": "What happens to a call that no rule matches. Without it: `runSync`, and `defer` for a tool that is "
        "`destructive`.",
        "rules": "Rules, first match first; but a rule that matches and denies wins wherever it stands.",
    },
    "PolicyRule": {
        "tool": "The name of a tool as the model sees it; `*` stands for any characters.",
        "match": "JSON pointers into the arguments, and what must be there: a value, a list of values, or "
        '`{"glob": "…"}`. All of them must match.',
        "disposition": "What happens to a call that the rule matches.",
        "serial": "Whether a call under this rule runs beside no other foreground call.",
        "expireSeconds": "A call that waits under this rule expires after so many seconds.",
    },
    "Defer": {
        "reason": "Shown to whoever decides.",
        "expireSeconds": "The call expires, unrun, after so many seconds.",
    },
    "Deny": {"reason": "Told to the model."},
    "RunIsolated": {
        "network": "Whether the sandbox may use the network.",
        "writable": "Whether the sandbox may write to the workspace.",
    },
    "Decorate": {
        "decorators": "Decorators, outer first.",
        "inner": "What happens inside of them.",
    },
    "Timeout": {"seconds": "How long a run may take."},
    "Retries": {"count": "How often a run that failed is tried again."},
    "Cache": {"key": "Results are shared under the same key only."},
    "Label": {"label": "What the call is called."},
    "Truncate": {"maxBytes": "How many bytes of the result the model sees, in UTF-8."},
    "AnyTool": {
        "kind": "What kind of tool this is.",
        "name": "The name that the model sees: 1 to 64 of `A-Z a-z 0-9 _ -`.",
        "description": "What the model is told of the tool.",
        "parameters": "A JSON schema of the arguments. What does not fit it is refused, and nothing runs.",
        "env": "Names of environment variables that it gets besides the usual ones.",
        "destructive": "Whether it can change things: without a `default` in the policy its calls wait for an "
        "approval. True by itself for shell-like tools, `write_file` and `edit_file`.",
        "idempotent": "Whether a call that was cut off may simply be run again.",
        "timeoutSeconds": "How long a call may take; else `limits.toolTimeoutSeconds`.",
        "shell": "The parameter that holds a shell command.",
    },
    "CommandTool": {
        "argv": "The program and its arguments. `{name}` stands for a parameter; an argument whose parameter has no "
        "value is left out. No shell is involved, unless this is one.",
    },
    "ExecutablesTool": {
        "directory": "A folder of programs that answer `describe` and `run`, or one such program, relative to this "
        "file. The model sees them as `bash_<slug>`."
    },
    "McpTool": {
        "name": "The server's name; the model sees its tools as `mcp_<name>_<tool>`.",
        "command": "The program of the server and its arguments, spoken to over stdio.",
        "url": "Where the server listens, instead of `command`.",
    },
    "HttpTool": {
        "method": "The method of the request.",
        "url": "What is asked; `{name}` stands for a parameter, percent-encoded. Other arguments go into the query, of "
        "POST, PUT and PATCH into a JSON body. A host out of a parameter is asked only if it is public.",
    },
    "WorkspaceTool": {"allow": "Which of the built-in tools for files there are."},
    "AgentTool": {
        "agent": "The slug of the other agent. It is looked up where this one was found, then among the user's.",
        "path": "The file of the other agent, instead of a look-up; relative to this file.",
    },
    "Limits": {
        "maxConcurrency": "Foreground calls that run at a time.",
        "maxSteps": "Steps of a turn; then it ends `limit`.",
        "toolTimeoutSeconds": "Of a call, where its tool says nothing else.",
        "stopGraceSeconds": "What a cancelled or stopped turn waits for its tools to end.",
        "maxTokens": "Of the session, summaries included; then no model is called any more.",
        "maxCost": "Of the session, in the currency of the prices; then no model is called any more.",
    },
    "Compaction": {
        "atTokens": "A history of about so many tokens is summed up before it is sent.",
        "keepTokens": "So many of the newest tokens stay as they are.",
    },
}
"""By model and field. What a model lacks is said of one that it derives from."""

WORDS: Mapping[str, str] = {
    "openai": "Chat Completions: OpenAI, and the servers that speak it too, such as Ollama, llama.cpp, vLLM or "
    "OpenRouter.",
    "openai-responses": "OpenAI's Responses. Nothing is stored there.",
    "anthropic": "Anthropic's Messages.",
    "scripted": "Embedded and deterministic, without a network: it plays a script.",
    "asynchronous": "Calls may wait for people, programs and background work.",
    "synchronous": "`abey run` waits for nobody: a call that would wait is denied, and the model is told so.",
    "runSync": "Run in this step, which waits for it.",
    "runAsync": "Start in the background, and let the step end.",
    "defer": "Never run by itself: wait for somebody to approve, deny or complete it.",
    "deny": "Refused at once, and the model is told so.",
    "runIsolated": "Run in a sandbox. Where there is none the call waits, and nothing may run it outside.",
    "decorate": "Decorators around another disposition, for calls that run.",
    "timeout": "Ends a run that takes too long; what is inside of it is cut off.",
    "retries": "Tries a failed run again, at once.",
    "cache": "Remembers a result that is no failure, for calls of the same tool with the same arguments in the "
    "session, until the daemon ends.",
    "label": "A word for people: the title of a call that waits begins with it.",
    "truncate": "Cuts a result that is longer. All of it is kept, and `agents/output` reads it.",
    "command": "Runs a program; no shell is involved, unless it is one.",
    "executables": "Every program of a folder that answers `describe` and `run`.",
    "mcp": "The tools of an MCP server, over stdio or at a URL.",
    "http": "One HTTP request.",
    "workspace": "The built-in tools for files under the session's folder.",
    "agent": "Another agent, as a tool.",
    "external": "Never run by the daemon: a person or a program brings the result.",
    "read_file": "Reads a file.",
    "list_files": "Lists files.",
    "search": "Searches files.",
    "write_file": "Writes a file.",
    "edit_file": "Changes a file.",
}

_SAMPLING = {
    "temperature": "How freely the model chooses; 0 is the least.",
    "top_p": "Only the likeliest tokens that make up this share are chosen from.",
}
_OPENAI = {
    **_SAMPLING,
    "parallel_tool_calls": "Whether an answer may hold several tool calls.",
    "service_tier": "How urgently the request is treated.",
}
PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "openai": {
        **_OPENAI,
        "max_tokens": "The most tokens of an answer, at many servers.",
        "max_completion_tokens": "The most tokens of an answer, thinking included.",
        "reasoning_effort": "How much the model thinks.",
        "seed": "The same seed makes the same answer likelier.",
        "stop": "Texts that end an answer.",
        "frequency_penalty": "Makes repeated tokens less likely.",
        "presence_penalty": "Makes tokens that were there already less likely.",
        "response_format": "The form that an answer must have.",
    },
    "openai-responses": {
        **_OPENAI,
        "max_output_tokens": "The most tokens of an answer, thinking included.",
        "reasoning": "How much the model thinks, and whether it tells: `effort`, `summary`.",
        "text": "The form that an answer must have.",
        "truncation": "Whether a history that is too long is cut.",
    },
    "anthropic": {
        **_SAMPLING,
        "max_tokens": "The most tokens of an answer; 8192 where nothing is said.",
        "thinking": "Whether and how much the model thinks: `type`, `budget_tokens`.",
        "top_k": "Only so many of the likeliest tokens are chosen from.",
        "stop_sequences": "Texts that end an answer.",
        "service_tier": "How urgently the request is treated.",
    },
}
"""The usual `parameters` of each provider; others are passed on as well."""

FOREIGN_TAG = "OpenAIAgentDescription"
"""What the wrapper of a file of agents-exe is called."""
FOREIGN_MARKS = ("flavor", "modelUrl", "modelName", "apiKeyId")
"""Fields that only files of agents-exe have."""
