"""docs/protocol.md names what of LSP the daemon understands."""

import re

from support.editing import Editing
from support.pages import DOCS, sections

from abey.daemon.editors.editors import Editors

SECTION = sections(DOCS / "protocol.md")["Without a plugin"]


def editors() -> Editors:
    stage = Editing()
    return Editors(stage.desk, {}, stage.progresses)


def test_the_section_names_every_method_of_lsp_that_is_understood() -> None:
    table = SECTION.split("| to the client |")[0]
    named = set(re.findall(r"`((?:textDocument|workspace|window)/[\w/]+|initialized)`", table))
    assert named == {*editors().features, *editors().notices}
