"""The commands about agent files, and about the folders whose agent files count."""

from abey_cli.arguments import AGENT, NEW_SLUG
from abey_cli.parsing import Command, arg

AGENTS = (
    Command("agents list", "agents:list_agents", "The agents found.", ()),
    Command(
        "agents check",
        "agents:check",
        "What is wrong with agent files.",
        (arg("files", metavar="FILE", nargs="+"),),
    ),
    Command(
        "agents new",
        "new_agent:new",
        "Write an agent file to begin with.",
        (
            NEW_SLUG,
            arg(
                "--provider",
                choices=("scripted", "openai", "openai-responses", "anthropic"),
                help="whose model; without it what there is a key for, else the embedded one",
            ),
            arg("--model", metavar="NAME", help="the model's name, as the provider has it"),
            arg("--workspace", action="store_true", help="in .abey/agents of this workspace, not for you alone"),
        ),
    ),
    Command(
        "agents explain",
        "agents:explain",
        "What the policy says of a call, and why.",
        (*AGENT, arg("tool", metavar="TOOL"), arg("arguments", metavar="ARGS-JSON", nargs="?")),
    ),
    Command(
        "trust",
        "trust:trust",
        "Trust a workspace: from then on the agents in its .abey count.",
        (
            arg("dir", metavar="DIR", nargs="?", help="this workspace without it; all below it is trusted, too"),
            arg("--yes", action="store_true", help="do not ask"),
            arg("--list", action="store_true", help="the folders that are trusted"),
            arg("--remove", metavar="DIR", help="trust it no longer"),
        ),
    ),
)
