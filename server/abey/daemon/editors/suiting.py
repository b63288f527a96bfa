"""Answers as a client can take them: what is newer than its LSP is said in older words."""

from collections.abc import Iterator, Sequence

from lsprotocol import types as lsp


def suited_actions(
    actions: Sequence[lsp.CodeAction], only: Sequence[lsp.CodeActionKind | str] | None, known: lsp.ClientCapabilities
) -> Sequence[lsp.CodeAction | lsp.Command]:
    """Those of the kinds that are asked for; just their commands for a client that knows nothing else."""
    wanted = [action for action in actions if only is None or any(_is_of(action.kind, kind) for kind in only)]
    text = known.text_document
    if text and text.code_action and text.code_action.code_action_literal_support:
        return wanted
    return [action.command for action in wanted if action.command and not action.edit and not action.disabled]


def suited_symbols(
    symbols: Sequence[lsp.DocumentSymbol], uri: str, known: lsp.ClientCapabilities
) -> Sequence[lsp.DocumentSymbol] | Sequence[lsp.SymbolInformation]:
    """As a tree, or as a list for a client that knows no trees."""
    text = known.text_document
    if text and text.document_symbol and text.document_symbol.hierarchical_document_symbol_support:
        return symbols
    return list(_listed(symbols, uri, None))


def _listed(symbols: Sequence[lsp.DocumentSymbol], uri: str, holder: str | None) -> Iterator[lsp.SymbolInformation]:
    for symbol in symbols:
        location = lsp.Location(uri, symbol.range)
        yield lsp.SymbolInformation(location=location, name=symbol.name, kind=symbol.kind, container_name=holder)
        yield from _listed(symbol.children or (), uri, symbol.name)


def _is_of(kind: lsp.CodeActionKind | str | None, asked: lsp.CodeActionKind | str) -> bool:
    """Kinds are paths of names: `refactor.rewrite` is a `refactor`; the empty kind is every one."""
    own, other = _name(kind), _name(asked)
    return not other or own == other or own.startswith(f"{other}.")


def _name(kind: lsp.CodeActionKind | str | None) -> str:
    return kind.value if isinstance(kind, lsp.CodeActionKind) else kind or ""
