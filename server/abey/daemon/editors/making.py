"""Puts together what editors are served: the languages, and the commands."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from abey.daemon.editors.agent_documents import AgentDocuments
from abey.daemon.editors.commands import Command
from abey.daemon.editors.desk import Desk
from abey.daemon.editors.editors import Editors, trusted
from abey.daemon.editors.progress import Progresses
from abey.daemon.plain.following import Following
from abey.daemon.plain.making import Plain
from abey.daemon.services import Services
from abey.language.agent_files.floors import FloorLanguage
from abey.language.language import Language
from abey.language.sessions.arguments_language import ArgumentsLanguage
from abey.language.sessions.session_language import SessionLanguage
from abey.rpc.dispatch import Binding
from abey.runtime.index.index import Index


class Made(NamedTuple):
    """What every editor is served, and what follows the sessions for those without a plugin, and for agent files."""

    editors: Editors
    plain: Plain
    agent_documents: AgentDocuments


def make_editors(
    services: Services, bindings: Mapping[str, Binding[Any, Any]], following: Following, index: Index
) -> Made:
    """Each language and each command is named here; late.py and offering.py name what of them can be asked for."""
    pages = following.pages
    agent_documents = AgentDocuments(services, index, bindings)
    languages: Sequence[Language] = (
        SessionLanguage(pages.folder, pages.look),
        ArgumentsLanguage(pages.folder, pages.look, services.registry.aside),
        agent_documents.language,
        FloorLanguage(
            services.settings.config_dir,
            services.registry.may_read,
            lambda path: services.registry.workspace_around(path) is not None,
            services.registry.aside,
        ),
    )
    desk, progresses = Desk(languages, trusted), Progresses()
    plain = Plain(services, bindings, pages, desk, progresses, following.documents)
    agent_documents.refresh = desk.refresh
    commands: Mapping[str, Command] = {**plain.commands, **agent_documents.commands}
    return Made(Editors(desk, commands, progresses), plain, agent_documents)
