"""The documentation holds together: links and their anchors, the index, and drawn pictures."""

import contextlib
import importlib.util
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("notebooks/*.md"))]
PROSE = [*sorted(ROOT.glob("*.md")), *PAGES[1:], ROOT / "examples" / "data" / "README.md"]
FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1[ \t]*$", re.M | re.S)


def prose(page):
    """A page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(text):
    """What each heading of the first three levels is called in a link, as the build names it."""
    names = []
    for heading in re.findall(r"^#{1,3} +(.+?) *$", text, re.M):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower().strip()).replace(" ", "-")
        names.append(f"{name}-{names.count(name)}" if name in names else name)
    return {*names, *re.findall(r"^\(([\w-]+)\)=$", text, re.M)}


def links(text):
    """(file, anchor) of each link that stays in the repository; either may be empty."""
    inline = re.sub(r"`[^`\n]*`", "", text)
    for target in re.findall(r"\]\(\s*<?([^)\s>]+)", inline):
        if not re.match(r"[a-z]+:", target):
            file, _, anchor = target.partition("#")
            yield file, anchor


def broken(page, text):
    """Links of a page that lead nowhere."""
    wrong = []
    for file, anchor in links(text):
        target = page.parent / file if file else page
        if not target.exists():
            wrong.append(file)
        elif anchor and anchor not in anchors(prose(target) if file else text):
            wrong.append(f"{file}#{anchor}")
    return wrong


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_anchor_leads_somewhere(page):
    assert broken(page, prose(page)) == []


def test_broken_links_are_noticed():
    page = DOCS / "audit.md"
    assert broken(page, "# Top\n[a](probe.md) [b](#top) [c](https://example.com/x#y)") == []
    assert broken(page, "[a](no-such-page.md)") == ["no-such-page.md"]
    assert broken(page, "# Top\n[a](#bottom)") == ["#bottom"]
    assert broken(page, "[a](audit.md#no-such-part)") == ["audit.md#no-such-part"]
    assert broken(page, "[a](audit.md#experimental-designs)") == []


def test_headings_are_named_as_the_build_names_them():
    text = '# 1. Who is in?\n## An "audit", of ε\n## Twice\n### Twice\n#### Too deep\n(mine)=\n'
    assert anchors(text) == {"1-who-is-in", "an-audit-of-ε", "twice", "twice-1", "mine"}


def listed(text):
    """Pages that a page names in its lists, in order."""
    lists = re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.M | re.S)
    rows = [row.strip() for toctree in lists for row in toctree.splitlines()]
    return [row for row in rows if row and not row.startswith(":")]


def test_the_index_and_its_sections_name_every_page_once():
    top = listed((DOCS / "index.md").read_text(encoding="utf-8"))
    below = [listed((DOCS / f"{page}.md").read_text(encoding="utf-8")) for page in top]
    named = [*top, *(page for pages in below for page in pages)]
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES[1:]} - {"index"}
    pages |= {
        str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.glob("notebooks/*.ipynb")
    }
    assert len(named) == len(set(named))
    assert set(named) == pages


def test_the_lists_of_a_page_are_read():
    assert listed("x\n```{toctree}\n:maxdepth: 1\n\none\ntwo/three\n```\nfour\n") == [
        "one",
        "two/three",
    ]


# -- the gallery ---------------------------------------------------------------------------------


def gallery():
    sys.path.insert(0, str(DOCS / "_extensions"))
    try:
        return importlib.import_module("gallery")
    finally:
        sys.path.pop(0)


def test_the_gallery_has_short_examples_each_of_which_can_be_copied():
    page = gallery().PAGE.read_text(encoding="utf-8")
    examples = gallery().examples(page)
    assert len(examples) >= 20
    assert len(examples) == page.count("\n## ") == page.count("```python")
    assert {example.slug for example in examples} <= anchors(prose(gallery().PAGE))
    for example in examples:
        lines = example.code.splitlines()
        assert len(lines) <= 25
        assert max(map(len, lines)) <= 84, example.title
        assert "import" in lines[0]
        assert example.shown.endswith(".")


def test_an_example_leaves_a_figure_with_names_of_its_own():
    found = gallery().examples(
        "## One\n\nA [line](x.md).\n\n```python\nfrom tellapart import plot\n"
        "figure, axes = plot.panels()\n```\n\n## Two\n\nNo figure.\n\n```python\n1\n```\n"
    )
    assert [(one.slug, one.shown) for one in found] == [("one", "A line."), ("two", "No figure.")]
    assert gallery().drawn(found[0]).axes
    with pytest.raises(KeyError):
        gallery().drawn(found[1])


# -- pictures -----------------------------------------------------------------------------------

PLACES = re.compile(rb"-?\d+\.\d+")


def script(name):
    described = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


def same(drawn, other):
    """Whether two SVGs draw the same, up to the last digits and the version that drew them."""
    places = [
        np.array(PLACES.findall(svg.partition(b"</metadata>")[2]), float) for svg in (drawn, other)
    ]
    return places[0].shape == places[1].shape and np.allclose(*places, rtol=0, atol=1e-3)


def test_the_table_of_deployments_is_that_of_the_library():
    published = script("published")
    assert published.PAGE.read_text(encoding="utf-8") == published.page()
    assert published.table().count("\n") == 2 + 33


def test_the_pictures_of_lessons_are_those_the_script_draws(tmp_path):
    lessons = script("lessons")
    lessons.main(tmp_path)
    stale = [
        name
        for name in lessons.PICTURES
        if not same((tmp_path / name).read_bytes(), (DOCS / name).read_bytes())
    ]
    assert stale == [], "run `make picture`"


def test_another_picture_is_noticed():
    drawn = (DOCS / "theory-coin.svg").read_bytes()
    head, mark, body = drawn.partition(b"</metadata>")
    moved = PLACES.sub(lambda number: b"%.6f" % (float(number[0]) + 0.01), body, count=1)
    assert same(drawn, drawn)
    assert not same(drawn, head + mark + moved)
    assert not same(drawn, (DOCS / "theory-test.svg").read_bytes())


# -- names --------------------------------------------------------------------------------------

ROOMS = ("accountants", "audit", "choose", "deployments", "errors", "fleet", "plot", "report")
ROOMS += ("reproduce", "risk", "run", "testing", "web", "worlds", "zoo")
SCRIPTS = [path for folder in ("benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
NAMED = re.compile(rf"(?<![\w./-])(?:tellapart|ta|{'|'.join(ROOMS)})(?:\.[A-Za-z]\w*)+(?![\w/-])")
GONE = {"audit.published", "reproduce.table_csv"}  # the page that names them says so
FILES = (".csv", ".html", ".ipynb", ".json", ".md", ".npz", ".parquet", ".py", ".svg", ".toml")


def named(text):
    """What a text calls ours: dotted names in backticks, and files of the source."""
    for quoted in re.findall(r"`+([^`\n]+)`+", text):
        for name in NAMED.findall(quoted):
            if not name.endswith(FILES):
                yield re.sub(r"^ta\.", "tellapart.", name)
    yield from re.findall(r"\bsrc/\w+[\w/.]*\w", text)


def is_there(name):
    """Whether a file exists, or a dotted name leads to something, attributes included."""
    if "/" in name:
        return (ROOT / name).exists()
    parts = name.removeprefix("tellapart.").split(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the page on migrating has old names
        for last in range(len(parts), -1, -1):
            with contextlib.suppress(ModuleNotFoundError):
                thing = importlib.import_module(".".join(["tellapart", *parts[:last]]))
                for part in parts[last:]:
                    thing = getattr(thing, part, None)
                return thing is not None
    return False


@pytest.mark.parametrize("page", [*PROSE, *SCRIPTS], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_module_and_name_that_is_named_is_there(page):
    text = page.read_text(encoding="utf-8")
    assert {name for name in named(text) if not is_there(name)} <= GONE


def test_names_that_are_gone_are_noticed():
    text = "`ta.Gaussian(1)`, `audit.json`, `risk.no_such(curve)`, src/tellapart/no_such.py"
    assert [name for name in named(text) if not is_there(name)] == [
        "risk.no_such",
        "src/tellapart/no_such.py",
    ]
