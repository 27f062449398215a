"""The gallery: the code of each section of ``gallery.md`` is run, and what it draws stands beside.

Each section is a title, a sentence and one block of Python that leaves a ``figure``. The block is
run by itself, with names of its own, so that whoever copies it can run it. ``{gallery}`` with a
list of sections, or with none for all of them, shows small pictures that lead there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

PAGE = Path(__file__).parent.parent / "gallery.md"
# Written by the build, beside the pages.
FOLDER = PAGE.parent / "gallery"
SECTION = re.compile(r"^## ([^\n]+)\n\n([^\n]+)\n\n```python\n(.*?)^```$", flags=re.M | re.S)


@dataclass(frozen=True)
class Example:
    """A picture: its title, what it shows in a sentence, and the code that draws it."""

    title: str
    words: str
    code: str

    @property
    def slug(self) -> str:
        """The anchor of its section, and the name of its picture."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).strip().replace(" ", "-")

    @property
    def shown(self) -> str:
        """What the picture shows, without links and other marks, for those who do not see it."""
        return re.sub(r"[`*$]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", self.words))


def examples(text: str) -> list[Example]:
    """The sections of the page, in order."""
    return [Example(*found) for found in SECTION.findall(text)]


def drawn(example: Example) -> Any:
    """The figure that the code of an example leaves."""
    matplotlib.use("Agg")
    names: dict[str, Any] = {"__name__": "__gallery__"}
    exec(compile(example.code, f"<gallery: {example.title}>", "exec"), names)  # noqa: S102
    return names["figure"]


def draw(_app: Any) -> None:
    """Write every picture; called before pages are read."""
    from tellapart import plot

    FOLDER.mkdir(exist_ok=True)
    wanted = {f"{example.slug}.svg" for example in _all()}
    for old in FOLDER.iterdir():
        if old.name not in wanted:
            old.unlink()
    for example in _all():
        path = FOLDER / f"{example.slug}.svg"
        before = path.read_bytes() if path.exists() else b""
        fresh = path.with_suffix(".new.svg")
        plot.save(drawn(example), fresh)
        if fresh.read_bytes() == before:
            fresh.unlink()  # what did not change is not copied again
        else:
            fresh.replace(path)


def _all() -> list[Example]:
    return examples(PAGE.read_text(encoding="utf-8"))


def _picture(example: Example) -> nodes.image:
    return nodes.image(
        uri=f"/gallery/{example.slug}.svg", alt=example.shown, loading="lazy", classes=["drawn"]
    )


class BesideCode(SphinxTransform):
    """Puts each picture beside the code that drew it."""

    default_priority = 10  # before pictures are collected

    def apply(self, **_options: Any) -> None:
        """Called by Sphinx for each page."""
        if self.env.docname != PAGE.stem:
            return
        by_title = {example.title: example for example in _all()}
        for block in list(self.document.findall(nodes.literal_block)):
            example = by_title.get(block.parent.next_node(nodes.title).astext())
            if example:
                both = nodes.container(classes=["code-and-picture"])
                block.replace_self(both)
                both += [block, nodes.paragraph("", "", _picture(example))]


class Thumbnails(Directive):
    """``{gallery}``: small pictures with their titles, each leading to its section."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Called by docutils where the directive stands."""
        by_slug = {example.slug: example for example in _all()}
        grid = nodes.container(classes=["thumbnails"])
        for slug in self.content or by_slug:
            if slug not in by_slug:
                raise self.error(f"no section of gallery.md is called {slug!r}")
            example = by_slug[slug]
            inside = nodes.inline(classes=["thumbnail"])
            picture = _picture(example)
            picture["alt"] = ""  # the title says it
            inside += [picture, nodes.inline("", example.title)]
            where = addnodes.pending_xref(
                "", inside, refdomain="doc", reftype="myst", reftarget=PAGE.stem,
                reftargetid=slug, refdoc="", refexplicit=True,
            )  # fmt: skip
            grid += nodes.paragraph("", "", where)
        return [grid]


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", draw)
    app.add_transform(BesideCode)
    app.add_directive("gallery", Thumbnails)
    return {"parallel_read_safe": True}
