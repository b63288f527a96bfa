"""docs/protocol.md names what of LSP the daemon understands."""

import re

from support.pages import DOCS, sections

from abey.daemon.editors.late import AT_ONCE, FEATURES, NOTICES

SECTION = sections(DOCS / "protocol.md")["Without a plugin"]


def test_the_section_names_every_method_of_lsp_that_is_understood() -> None:
    table = SECTION.split("| to the client |")[0]
    named = set(re.findall(r"`((?:textDocument|workspace|window)/[\w/]+|initialized)`", table))
    assert named == {*FEATURES, *NOTICES, *AT_ONCE}
