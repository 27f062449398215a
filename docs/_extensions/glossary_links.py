"""The first use of a glossary term on a page leads to its entry in ``glossary.md``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

GLOSSARY = Path(__file__).parent.parent / "glossary.md"
# Text in these is no prose, or leads somewhere already.
UNLINKED = (
    nodes.literal,
    nodes.literal_block,
    nodes.title,
    nodes.reference,
    nodes.caption,
    nodes.math,
    nodes.image,
    nodes.table,
    addnodes.pending_xref,
    addnodes.download_reference,
)


def entries(text: str) -> list[list[str]]:
    """The terms of each entry: synonyms stand on lines of their own above one definition."""
    groups: list[list[str]] = []
    for block in re.findall(r"^```\{glossary\}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        for entry in block.strip("\n").split("\n\n"):
            groups.append([line for line in entry.splitlines() if not line.startswith(" ")])
    return groups


def pattern(term: str) -> str:
    """Where a term is used in prose: whole, in the plural too, acronyms and Greek as they stand."""
    words = re.escape(term).replace(r"\ ", r"[\s-]+")  # as an adjective with a hyphen, too
    flag = "" if len(term) == 1 or term.isupper() or re.match(r"\W", term) else "i"
    return f"(?{flag}:{words})" if not flag else f"(?i:{words}s?)"


class FirstUses(SphinxTransform):
    """Makes a reference of the first use of each entry on a page."""

    default_priority = 400  # after the page is parsed, before references are resolved

    def apply(self, **_options: Any) -> None:
        """Called by Sphinx for each page."""
        page = self.env.docname
        if page in ("glossary", "index") or page.startswith("api/"):
            return
        groups = entries(GLOSSARY.read_text(encoding="utf-8"))
        entry_of = {_key(term): number for number, terms in enumerate(groups) for term in terms}
        spelled = {_key(term): term for terms in groups for term in terms}
        terms = sorted((t for g in groups for t in g if len(t) > 1), key=len, reverse=True)
        used = re.compile(r"(?<![\w-])(?:" + "|".join(map(pattern, terms)) + r")(?![\w-])")
        linked: set[int] = set()
        for text in list(self.document.findall(nodes.Text)):
            if any(isinstance(parent, UNLINKED) for parent in _parents(text)):
                continue
            pieces, end = [], 0
            for match in used.finditer(text.astext()):
                words = _key(match.group())
                term = words if words in entry_of else words.removesuffix("s")
                if entry_of[term] in linked:
                    continue
                linked.add(entry_of[term])
                pieces += [nodes.Text(text[end : match.start()])]
                pieces += [_reference(spelled[term], match.group(), page)]
                end = match.end()
            if pieces:
                text.parent.replace(text, [*pieces, nodes.Text(text[end:])])


def _key(words: str) -> str:
    return re.sub(r"[\s-]+", " ", words).lower()


def _parents(node: nodes.Node) -> list[nodes.Node]:
    parents = []
    while node.parent is not None:
        node = node.parent
        parents.append(node)
    return parents


def _reference(term: str, shown: str, page: str) -> nodes.Node:
    inside = nodes.inline("", shown, classes=["std", "std-term"])
    return addnodes.pending_xref(
        "", inside, refdomain="std", reftype="term", reftarget=term, refwarn=True, refdoc=page,
        refexplicit=True,
    )  # fmt: skip


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_transform(FirstUses)
    return {"parallel_read_safe": True}
