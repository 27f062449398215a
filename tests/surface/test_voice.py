"""Pages speak the field's language: words of a private dialect stay out, its terms stay in."""

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("notebooks/*.ipynb")),
    *sorted(DOCS.glob("*.py")),
    *sorted((ROOT / "examples").glob("*.py")),
]
# The library speaks so, too, in all that it prints or explains.
SOURCE = ROOT / "src"
FILES = [*PAGES, *sorted(SOURCE.rglob("*.py")), *sorted(SOURCE.rglob("*.html"))]
FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1[ \t]*$", re.M | re.S)

# What is not said, and what is said instead.
DIALECT = {
    r"\b(?:hangs?|hung|hanging) together\b": "correlated",
    r"\baccus\w+": "flag, false positive",
    r"\boutsiders?\b": "non-members",
    r"\band others (?=\(?\d{4})": "et al.",
    r"\bmembers (?:and|from|than|against) others\b": "non-members",
    r"\b(?:came|come) about\b": "experimental design",
    r"\bspeaks? for membership\b": "score direction",
    r"\bwere it true\b": "p-value",
    r"\b(?:this|it) rests on\b": "assumptions",
    r"\bto the (?:private|safe) side\b": "rounded conservatively",
    r"\bwhat binds\b": "binding constraint",
    r"\bchanges? places\b": "the curves cross",
    r"\bnumbers? (?:is|are|hold)s? (?:for|of) .{0,40} alone\b": "specific to this mechanism",
    r"\bgives membership a chance\b": "prior probability of membership",
    r"\bhow often it is right\b": "accuracy of the best attack",
    r"\bone view of the curve\b": "ε at this δ",
    r"\bmore or less (?:would|means?)\b": "sensitivity analysis",
    r"\bmany times, on a sample\b|\band then, on the same data\b": "composition, subsampling",
    r"\bwith few exceptions\b": "smaller δ",
    r"\bsuch a file\b": "expected file format",
    r"\bon which side they err\b": "exact, upper or lower bound",
    r"\bfall steadily\b": "cannot solve for it: say why, and what to fix",
    r"\bevery call broke off\b": "the function raised on every call",
    r"\bagree too often\b": "consecutive outputs are correlated",
    r"\busual number\b": "ε at this δ",
    r"\b(?:looks? (?:is|are)|how audits) pa(?:y|id)\b": "multiple-testing budget",
    r"\bpage to file\b|\bhow to make it again\b": "privacy report, reproduce this report",
    r"\btake it with you\b": "export",
    r"\bmost was hoped\b": "chosen on held-out calls",
    r"\bmost telling (?:look|event)?:": "strongest event",
    r"\bthe \d* ?%? ?were spent\b": "multiple-testing budget (α = 5 %)",
    r"\bso much would be seen\b|\bwas allowed for\b": "p ≤ ... (threshold after correction: ...)",
    r"\bmost suspicious others\b|\bothers it accused\b|\bothers were\b": "non-members",
    r"\bis no number\b": "is not a number",
    r"\bcalls apart agree too often\b": "consecutive outputs are correlated",
    r"\bindependent, cannot judge\b": "no verdict",
    r"\blook(?:s|ing|ed)? both ways\b": "test both directions",
    r"\bsuch a file$": "expected file format",
}
# What people search for stands in the README or on a page, and in the glossary.
TERMS = [
    "f-DP",
    "trade-off function",
    "membership inference",
    "non-member",
    "correlated",
    "privacy accountant",
    "privacy profile",
    "LiRA",
    "shadow models",
    "canary",
    "experimental design",
    "p-value",
    "multiple-testing budget",
    "Pufferfish",
    "DP-SGD",
    "amplification by subsampling",
    "group privacy",
    "neighbouring relation",
    "unit of privacy",
]


def prose(path):
    """What a person reads in a file: no blocks of code, no names in code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        strings = (
            node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)
        )
        text = "\n".join(one for one in strings if isinstance(one, str))
        return re.sub(r"`[^`\n]*`", "", text)
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def dialect(text):
    """Each word that is not said, with what is said instead."""
    flat = " ".join(text.split())
    return [
        f"{found.group()!r}: say {better}"
        for words, better in DIALECT.items()
        for found in re.finditer(words, flat, re.I)
    ]


def test_the_words_are_those_of_the_field():
    said = {str(path.relative_to(ROOT)): dialect(prose(path)) for path in FILES}
    assert len(said) > 300
    assert {path: words for path, words in said.items() if words} == {}


@pytest.mark.parametrize("term", TERMS)
def test_terms_that_people_search_for_are_used_and_explained(term):
    glossary = DOCS / "glossary.md"
    assert term.lower() in glossary.read_text(encoding="utf-8").lower()
    words = r"[\s-]+".join(re.escape(word) for word in term.split())
    using = [
        page.name for page in PAGES if page != glossary and re.search(words, prose(page), re.I)
    ]
    assert using


def test_the_front_says_what_it_is():
    for page in (ROOT / "README.md", DOCS / "index.md"):
        text = prose(page)
        for term in ("membership.inference", "f-DP", "trade-off function", "correlated", "DP-SGD"):
            assert re.search(term, text), f"{page.name}: {term}"


@pytest.mark.parametrize(
    "text",
    [
        "days that hang\ntogether",
        "It accuses many.",
        "Liu and others (2019)",
        "finds members and others",
        "How the scores came about",
        "What binds is a limit",
    ],
)
def test_a_dialect_is_noticed(text):
    assert len(dialect(text)) == 1


def test_code_and_names_are_no_prose(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Use `attack.accuses`.\n```console\naccused\n```\n", encoding="utf-8")
    assert dialect(prose(page)) == []
    module = tmp_path / "module.py"
    module.write_text('accused = 1  # accused\nprint("accused")\n', encoding="utf-8")
    assert dialect(prose(module)) == ["'accused': say flag, false positive"]


# Where a number's text is made; elsewhere `short`, `fixed` and `related` write it for people.
MAKERS = {
    SOURCE / "tellapart" / name
    for name in ("_checks.py", "_numeric/text.py", "drawing/svg.py", "plot/numbers.py")
}


def read_back(tree):
    """Formats that are read back as numbers or compared by length, and shown to nobody."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    inner = (node for node in calls if getattr(node.func, "id", "") in {"float", "len"})
    return {id(part) for node in inner for part in ast.walk(node)}


def test_small_numbers_are_written_in_one_way():
    """1e-5, and nowhere 1e-05: no format of Python's own writes an exponent."""
    paths = {*SOURCE.rglob("*.py")} - MAKERS
    assert len(paths) > 300
    assert {str(path): specs for path in paths if (specs := exponents(path))} == {}


def exponents(path):
    """What a module formats with an exponent of Python's own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = read_back(tree)
    specs = [
        ast.unparse(node.format_spec)
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue) and node.format_spec and id(node) not in hidden
    ]
    return [spec for spec in specs if re.search(r"[ge]['\"]$", spec)]
