"""A shell that stays: what a command does to its folder and its variables, the next one finds."""

import asyncio
import secrets
import shlex

from abey.extensions import (
    Capability,
    Extension,
    Json,
    ModelCall,
    Proceed,
    Program,
    Question,
    SessionInfo,
    Signal,
    Tool,
    ToolError,
    ToolRun,
)

BASH = ("bash", "--noprofile", "--norc")

MOST_BYTES = 1 << 20


class Shell:
    """One bash, begun when it is first needed and again where a command has ended it."""

    def __init__(self, session: SessionInfo) -> None:
        self._session = session
        self._turn = asyncio.Lock()
        self._bash: Program | None = None

    async def run(self, command: str) -> Json:
        """What the command prints, and its exit status. One at a time; whoever is cancelled ends the shell."""
        if "\0" in command:
            raise ToolError("bash would leave out the NUL, and run another command")
        async with self._turn:
            try:
                if self._bash is None:
                    self._bash = await self._session.start(*BASH)
                return await self._run(self._bash, command)
            except BaseException:
                await self.end()
                raise

    async def end(self) -> None:
        """Ends bash and all that it has started."""
        bash, self._bash = self._bash, None
        if bash is not None:
            await bash.end()

    async def _run(self, bash: Program, command: str) -> Json:
        """Raises ToolError where the shell ends before the command does, or it prints too much."""
        mark = secrets.token_hex(16)
        line = f"eval {shlex.quote(command)} </dev/null; printf '\\n%s %s\\n' {mark} $?\n"
        await bash.write(line.encode())
        printed, end = b"", f"\n{mark} ".encode()
        while b"\n" not in printed.partition(end)[2]:
            piece = await bash.read()
            printed += piece
            if not piece or len(printed) > MOST_BYTES:
                why = "prints too much" if piece else "has ended the shell"
                raise ToolError(f"the command {why}; the next one begins a new one")
        output, _, status = printed.partition(end)
        return {"status": int(status.split()[0]), "output": output.decode(errors="replace")}


async def begin(session: SessionInfo, _: Signal) -> Shell:
    return Shell(session)


async def run_command(run: ToolRun) -> Json:
    shell: Shell = await run.capabilities.get("shell")
    return await shell.run(run.arguments["command"])


class PersistentShell(Extension):
    """Gives models the shell, and has a say in what is done with it."""

    capabilities = (Capability("shell", begin, Shell.end),)
    tools = (
        Tool(
            name="shell_run",
            description="Runs a command in the shell of this session.",
            parameters={
                "type": "object",
                "properties": {"command": {"type": "string"}},
                "required": ["command"],
            },
            run=run_command,
            command="command",
        ),
    )

    async def around(self, call: ModelCall, proceed: Proceed) -> None:
        call.add_tool("shell_run")
        call.add_instructions("shell_run keeps its folder and its variables from one command to the next.")
        await proceed()
        if "PRIVATE KEY-----" in call.answer.text:
            call.trip("the answer holds a private key")
        for asked in call.answer.calls:
            match asked.tool, asked.value:
                case "shell_run", {"command": str(command)} if "sudo" in command:
                    call.deny(asked, "this shell is nobody's but the user's own")
                case "shell_run", {"command": str(command)} if "git push" in command:
                    call.ask(asked, Question(kind="approval", prompt=f"May this be pushed? {command}"))
                case _:
                    pass  # what else there is, the policy judges
