"""The reproduction: all files or none, the same bytes every time, and a page that shows them."""

import csv
import io
import json
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

import tellapart as ta
from tellapart import plot, reproduce
from tellapart.reproduce import attacker_knowledge, figures, render
from tellapart.reproduce.table import CellVerdict, judge

FIGURES = [
    *(f"figure-{number}" for number in range(1, 10)),
    "regions-epsilon",
    "regions-delta",
    "region-point",
    "region-printed",
]
TABLES = ["table-1.txt", "table-1.csv", "table-1.json"]
FILES = sorted([*(f"{name}.svg" for name in FIGURES), *TABLES, "index.html"])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return reproduce.run(tmp_path_factory.mktemp("made") / "new" / "folder")


@pytest.fixture(scope="module")
def page(made):
    return made.page.read_text(encoding="utf-8")


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


# -- the files ----------------------------------------------------------------------------------


def test_every_file_is_written_and_named(made):
    assert sorted(contents(made.folder)) == FILES
    assert sorted(path.name for path in made.files) == FILES
    assert all(path.is_file() for path in made.files)
    assert made.cells == reproduce.table_one()


def test_a_second_run_gives_the_same_bytes_and_leaves_other_files_alone(made, tmp_path):
    (tmp_path / "mine.txt").write_text("kept")
    (tmp_path / "table-1.txt").write_text("old")
    assert reproduce.run(str(tmp_path)).folder == tmp_path
    found = contents(tmp_path)
    assert found.pop("mine.txt") == b"kept"
    assert found == contents(made.folder)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_valid_and_small(made, name):
    path = made.folder / f"{name}.svg"
    assert ElementTree.parse(path).getroot().tag.endswith("svg")  # noqa: S314
    assert path.stat().st_size < 200_000


DOCS = Path(__file__).resolve().parents[3] / "docs"


def drawn_by(svg):
    """The version of matplotlib that an SVG says it was drawn by."""
    return re.search(r"Matplotlib v([\w.]+)", svg.decode())[1]


def panels(svg):
    root = ElementTree.fromstring(svg)  # noqa: S314
    return sum(one.get("id", "").startswith("axes_") for one in root.iter())


def is_fresh(kept, anew):
    """The same bytes; from another matplotlib, as many axes."""
    if drawn_by(kept) == drawn_by(anew):
        return kept == anew
    return panels(kept) == panels(anew) > 0


# Those of the lessons are drawn and compared with the links and pages of the site.
LESSONS = set(re.findall(r'"([\w-]+)\.svg":', (DOCS / "lessons.py").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", sorted({path.stem for path in DOCS.glob("*.svg")} - LESSONS))
def test_every_picture_of_the_documents_is_what_would_be_drawn_now(made, tmp_path, name):
    # All others are figures made anew.
    drawn = {"picture": "draw", "composition": "shortcuts", "deployments": "published"}
    if name in drawn:
        draw = runpy.run_path(str(DOCS / "picture.py"))[drawn[name]]
        anew = plot.save(draw(), tmp_path / f"{name}.svg").read_bytes()
    else:
        anew = (made.folder / f"{name}.svg").read_bytes()
    assert is_fresh((DOCS / f"{name}.svg").read_bytes(), anew)


def test_a_stale_picture_is_noticed(made):
    one, two = ((made.folder / f"figure-{k}.svg").read_bytes() for k in (2, 3))
    assert is_fresh(one, one)
    assert not is_fresh(one, one + b" ")
    older = one.replace(f"Matplotlib v{mpl.__version__}".encode(), b"Matplotlib v3.0.1")
    assert is_fresh(older, one)
    assert not is_fresh(older, two)


def test_figure_eight_draws_the_formula():
    """F* = 1 − 1/s with s = √(1 + 4e^ε/γ) beyond the turning point, 2/(2 + γ) before it."""
    (axes,) = attacker_knowledge.figure_eight().figure.axes
    lines = [line for line in axes.lines if len(line.get_xdata()) > 1]
    for line, gamma in zip(lines, (1, 0.8, 0.62, 0.458), strict=True):
        epsilon, score = line.get_xdata(), line.get_ydata()
        beyond = epsilon >= np.log1p(1 / gamma)
        formula = 1 - 1 / np.sqrt(1 + 4 * np.exp(epsilon) / gamma)
        assert np.allclose(score, np.where(beyond, formula, 2 / (2 + gamma)), rtol=1e-12)


def test_the_printed_region_is_too_large_by_what_the_caption_says():
    """By counting points that keep Eqs 3 to 6 and points that keep all four inequalities."""
    fpr, fnr = np.meshgrid(*2 * [(np.arange(1000) + 0.5) / 1000])
    e = np.exp(1)
    printed = (fpr + e * fnr >= 1) & (e * fpr + fnr >= 1) & (fpr <= e * (1 - fnr))
    right = ta.PrivacyRegion(1).contains(fpr, fnr)
    assert np.all(printed | ~right)
    more, caption = np.mean(printed & ~right), figures.region_printed().caption
    told = re.search(r"too large by ([\d.]+), (\d+) %", caption)
    assert float(told[1]) == pytest.approx(more, abs=1e-3)
    assert float(told[2]) == pytest.approx(100 * more / np.mean(right), abs=0.6)


# -- the page -----------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Counts what is opened and closed, and keeps every link."""

    void = frozenset({"meta", "img"})

    def __init__(self):
        super().__init__()
        self.open, self.links, self.alts = [], [], []

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.links += [told[key] for key in ("src", "href") if key in told]
        self.alts += [told["alt"]] if tag == "img" else []
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_links_to_every_file(made, page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert {f"{name}.svg" for name in FIGURES} <= set(reader.links)
    assert set(TABLES) <= set(reader.links)
    assert all((made.folder / link).is_file() for link in reader.links)
    assert len(reader.alts) == len(FIGURES)
    assert all(reader.alts)


def test_the_page_takes_nothing_from_a_network(page):
    assert not re.search(r"https?:|//[a-z]|@import|<script", page)


def test_the_page_marks_verdicts_by_words(page):
    for verdict, count in reproduce.verdicts(reproduce.table_one()).items():
        assert f"<strong>{count} {verdict.value}</strong>" in page
        if verdict is not CellVerdict.DASH_RIGHT:
            assert page.count(f'<span class="word">{verdict.value}</span>') == count


def test_captions_say_what_differs(page):
    for words in (
        "Eqs 9 and 10 have the wrong sign below the peak",
        "The paper prints ΔQ/ε under the root",
        "187 times what is promised",
        "The gain is the base rate and not the knowledge",
        "The caption of (b) says F1-score and the text says PR-relation",
        "FNR ≤ e<sup>ε</sup>·TNR + δ fails by 0.2282",
        "can only refute",
    ):
        assert words in page
    assert not re.search(r"\bnan\b|ρ_|e\^", page)


def test_nobody_speaks_of_themselves(page):
    """What is published speaks of the texts and of tellapart, not of how it was made."""
    errata = (DOCS / "errata.md").read_text(encoding="utf-8")
    for text in (page, errata):
        assert re.findall(r"\b(?:we|us|our|ours|my)\b", text, re.I) == []


# -- the errata ---------------------------------------------------------------------------------

FENCE = re.compile(r"^```.*?^```", re.M | re.S)
# "Eqs 9, 10 and 24", "Section 5.3.1", "Figure 3(b)": names, not numbers.
NAMES = re.compile(
    r"\b(?:Eqs?\.?|Sections?|Figures?|Theorems?|Table|Corollary|proof in) "
    r"\d[\d.]*(?:\([a-z]\))?(?:(?:, | and | to )\d[\d.]*)*"
)


def numbers(text):
    """Numbers of two digits or more, a percentage as a share."""
    text = re.sub(r"10<sup>−(\d+)</sup>", r"1e-\1", NAMES.sub("", text))
    found = re.findall(r"(?<![\w.])(\d+(?:\.\d+)?(?:e-?\d+)?)( %)?", text)
    return {
        float(one) / (100 if percent else 1)
        for one, percent in found
        if len(one) > 1 and not re.match(r"0\d", one)  # 00 and 01 are bits
    }


SECTIONS = re.split(r"^## ", (DOCS / "errata.md").read_text(encoding="utf-8"), flags=re.M)[1:]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda one: one.splitlines()[0])
def test_every_number_in_the_prose_of_the_errata_is_in_a_block_of_its_section(section):
    """And what a block shows is run by the tests of the documents."""
    code = "\n".join(FENCE.findall(section))
    shown = {round(one, 12) for one in numbers(code)}
    assert {round(one, 12) for one in numbers(FENCE.sub("", section))} <= shown


def test_numbers_are_found_in_prose():
    text = "Eqs 9, 10 and 24: 13 of 33 at ε = 1.61, FPR 10 %, δ = 10<sup>−4</sup>, Section 5.3.1"
    assert numbers(text) == {13, 33, 1.61, 0.1, 1e-4}


# -- the table ----------------------------------------------------------------------------------


def test_the_text_shows_every_number_and_fits_a_terminal():
    text = reproduce.table_text()
    assert max(len(line) for line in text.splitlines()) <= 88
    assert text == render.text(reproduce.table_one())
    for line in (
        "β = 0.5 printed   0.22x   0.34    0.55+   0.82-   1.42    2.04       3    4.29+",
        "any mechanism        –  0.3227  0.4895  0.7081  1.1526  1.5856  2.1972  2.9444",
        " 13 exact           the exact value, whether rounded or cut to two decimals",
        "β = 0.5, F ≤ 0.62: printed 0.55 gives F = 0.620225; the largest ε is 0.5488",
        "β = 2, F ≤ 0.83: printed 1.61, but F = 0.8333 even at ε = 0",
    ):
        assert line in text.splitlines()


def test_wherever_any_mechanism_stands_it_says_for_which_weights(page):
    """The row has one ε for a column; some β of the column have none."""
    told = " ".join(render.ANY_MECHANISM)
    for words in (reproduce.table_text(), page, json.loads(reproduce.table_json())["note"]):
        assert told in " ".join(words.split())
    for one in json.loads(reproduce.table_json())["cells"]:
        none = one["largest_epsilon_any_mechanism"] is None
        assert (one["note"] == "no ε keeps this bound, whatever the mechanism") == none


def test_csv_and_json_hold_every_digit():
    cells = reproduce.table_one()
    rows = list(csv.DictReader(io.StringIO(render.comma_separated(cells))))
    told = json.loads(reproduce.table_json())
    assert len(rows) == len(told["cells"]) == len(cells) == 48
    assert told["verdicts"] == {
        "exact": 13,
        "rounded up": 9,
        "truncated": 7,
        "impossible": 4,
        "dash is right": 15,
    }
    assert "popets-2019-0045" in told["source"]
    for cell, row, one in zip(cells, rows, told["cells"], strict=True):
        assert one["largest_epsilon_laplace"] == cell.largest
        assert row["largest_epsilon_laplace"] == ("" if cell.largest is None else str(cell.largest))
        assert row["verdict"] == one["verdict"] == cell.verdict.value


def test_an_altered_table_is_told_as_such():
    altered = [
        judge(1, 0.9, 5.0),
        judge(1, 0.9, 0.1),
        judge(1, 0.9, None),
    ]
    assert [cell.verdict.value for cell in altered] == ["too large", "too small", "dash is wrong"]
    assert render.remark(altered[0]) == (
        "β = 1, F ≤ 0.9: printed 5 gives F = 0.958992; the largest ε is 3.2088"
    )


# -- what goes wrong ----------------------------------------------------------------------------


def refusal(folder):
    with pytest.raises(ta.InvalidArgument) as caught:
        reproduce.run(folder)
    return str(caught.value)


def test_a_file_in_the_way_is_refused_word_for_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("mine")
    Path("nowhere").symlink_to("missing")
    rule = "folder must be a folder, or a new name inside one, got"
    assert refusal("taken") == f"{rule} 'taken'"
    assert refusal("taken/deeper") == f"{rule} 'taken/deeper'"
    assert refusal("nowhere") == f"{rule} 'nowhere'"
    assert refusal(3) == "folder must be a path, got 3"
    assert Path("taken").read_text() == "mine"


@pytest.fixture
def quick(monkeypatch):
    """One figure is enough to see a failure."""
    monkeypatch.setattr(figures, "FIGURES", figures.FIGURES[:1])


@pytest.mark.usefixtures("quick")
def test_a_folder_where_a_file_should_go_is_refused_before_anything_moves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("index.html").mkdir()
    assert refusal(".") == "folder must not hold a folder called index.html, got '.'"
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("target", [".", "new", "new/deeper"])
def test_a_failing_write_leaves_nothing_behind(tmp_path, monkeypatch, target):
    """The disk fills up when only the page is still to be written."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "table-1.txt").write_text("old")
    whole = Path.write_text

    def full(path, *arguments, **named):
        if path.name == "index.html":
            raise OSError(28, "No space left on device")
        return whole(path, *arguments, **named)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        reproduce.run(folder / target)
    assert contents(folder) == {"table-1.txt": b"old"}
