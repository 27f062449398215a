"""The README and the pages of docs/ are run, and what they promise exists."""

import ast
import contextlib
import doctest
import io
import math
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tellapart.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FENCE = re.compile(r"^( *)(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*\n(.*?)^ *\2[ \t]*$", re.M | re.S)
PROMISE = re.compile(r"\s#\s*(?:->|→)\s*(.+?)\s*$")
SHELLS = {"console", "sh", "bash", "shell", "shell-session", "zsh"}


def blocks(text, languages):
    """(first line number, code) of each fenced block in one of these languages."""
    for found in FENCE.finditer(text):
        if found[3] in languages:
            line = text.count("\n", 0, found.start(4)) + 1
            indent = len(found[1])
            code = "".join(row[indent:] for row in found[4].splitlines(keepends=True))
            yield line, code


# -- python blocks ------------------------------------------------------------------------------


def keeps(value, printed, promise):
    """Whether the comment shows the value; after a comma it may go on in words."""
    parts = promise.split(", ")
    shown = [", ".join(parts[: k + 1]) for k in range(len(parts))]
    return any(agrees(value, printed, one) for one in shown)


def agrees(value, printed, promised):
    """Whether a value, or what was printed, is what the comment shows, to the digits it shows."""
    shown = printed.strip() if printed.strip() else repr(value)
    if promised in (shown, str(value)):
        return True
    try:
        wanted, number = float(promised), float(shown if printed.strip() else value)
    except (TypeError, ValueError):
        return False
    if not math.isfinite(wanted):
        return wanted == number
    mantissa, _, exponent = promised.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return abs(wanted - number) <= 0.5000001 * 10.0 ** (int(exponent or 0) - decimals)


def value_of(statement, namespace):
    """Run one statement; give what it evaluates to, or the value it assigns."""
    if isinstance(statement, ast.Expr):
        code = compile(ast.Expression(statement.value), "<page>", "eval")
        return eval(code, namespace)  # noqa: S307
    exec(compile(ast.Module([statement], []), "<page>", "exec"), namespace)  # noqa: S102
    target = getattr(statement, "targets", [getattr(statement, "target", None)])[0]
    return namespace.get(target.id) if isinstance(target, ast.Name) else None


def run_script(code, namespace, where):
    """Run a block statement by statement and check every trailing `# -> value`."""
    rows = code.splitlines()
    for statement in ast.parse(code).body:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            value = value_of(statement, namespace)
        promise = PROMISE.search(rows[statement.end_lineno - 1])
        if promise:
            line = f"{where}, line {statement.end_lineno}: {rows[statement.end_lineno - 1].strip()}"
            got = out.getvalue().strip() or repr(value)
            assert keeps(value, out.getvalue(), promise[1]), f"{line}\n  got {got}"


def run_session(code, namespace, where):
    """Run a block that carries `>>>` prompts as a doctest."""
    session = doctest.DocTestParser().get_doctest(code, namespace, where, None, 0)
    report = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    result = runner.run(session, out=report.write, clear_globs=False)
    namespace.update(session.globs)
    assert result.failed == 0, report.getvalue()


def run_page(text, where):
    namespace = {"__name__": "__page__"}
    count = 0
    for line, code in blocks(text, {"python", "py", "pycon"}):
        run = run_session if re.search(r"^\s*>>> ", code, re.M) else run_script
        run(code, namespace, f"{where}, block at line {line}")
        count += 1
    return count


@pytest.mark.filterwarnings("ignore:Secure RNG turned off:UserWarning")  # what Opacus always says
@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_python_block_runs_and_keeps_its_promises(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")  # a block may read its files
    monkeypatch.chdir(tmp_path)  # and write others
    monkeypatch.setenv("MPLBACKEND", "Agg")
    count = run_page(text, page.name)
    assert count == len(re.findall(r"^ *(?:`{3,}|~{3,})[ \t]*(?:python|py|pycon)\b", text, re.M))


def typed(text):
    """(command, the lines shown under it) of each `$ tellapart …` in a shell block."""
    for _, code in blocks(text, SHELLS):
        for part in re.split(r"^\$ ", code, flags=re.M)[1:]:
            command, *shown = part.splitlines()
            if command.startswith("tellapart "):
                yield shlex.split(command.partition(" #")[0])[1:], shown


def shows(printed, shown):
    """Whether the shown lines are the printed ones, in order; `...` stands for any number."""
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if row == "..." else re.escape(row) + r" *\n" for row in shown
    )
    return re.fullmatch(pattern, printed) is not None


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_shown_prints_what_is_shown(page, tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")  # a command may read its files
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for tokens, shown in typed(page.read_text(encoding="utf-8")):
        code = main(tokens)
        printed = capsys.readouterr().out
        assert code == (1 if printed.startswith("REFUTED") else 0)
        assert not shown or shows(printed, shown), f"{' '.join(tokens)}\n{printed}"


def test_the_readme_shows_commands_and_what_is_shown_must_be_printed():
    assert list(typed((ROOT / "README.md").read_text(encoding="utf-8")))
    printed = "one\ntwo  \nthree\n"
    assert shows(printed, ["one", "two", "three"])
    assert shows(printed, ["one", "..."])
    assert shows(printed, ["...", "two", "..."])
    assert not shows(printed, ["one", "three"])
    assert not shows(printed, ["one", "two", "tree"])
    assert not shows(printed, ["one", "two"])


def test_the_readme_shows_code():
    assert list(blocks((ROOT / "README.md").read_text(encoding="utf-8"), {"python", "pycon"}))


# -- the runner itself can fail -----------------------------------------------------------------

GOOD = """
```python
import math
x = math.sqrt(2)      # -> 1.414
math.pi               # → 3.14
print("two", 1 + 1)   # -> two 2
{"a": [1, 2]}         # -> {'a': [1, 2]}
math.inf              # -> inf
1.5e-7                # -> 1.5e-7
(1, 2)                # -> (1, 2), a pair
2 / 3                 # -> 0.667, two thirds, about
```
text
```python
>>> round(x, 3)
1.414
>>> y = 2 * x
```
```python
assert y > x          # names live on
```
"""


def test_the_runner_runs_good_pages():
    assert run_page(GOOD, "good") == 3


@pytest.mark.parametrize(
    "code",
    [
        "1 / 0",
        "undefined_name",
        "1 + 1  # -> 3",
        "x = 2.0  # -> 2.1",
        "2.0  # -> 2.01",
        "0.12345  # -> 0.1236",
        "0.5  # -> 0.6, or 0.5",
        "(1, 2)  # -> (1, 3), a pair",
        'print("a")  # -> b',
        "None  # -> 1",
        ">>> 1 + 1\n3",
        ">>> 1 / 0\n0",
        "this is no python",
        "assert False",
    ],
)
def test_the_runner_notices_bad_pages(code):
    with pytest.raises((AssertionError, ArithmeticError, NameError, SyntaxError)):
        run_page(f"```python\n{code}\n```\n", "bad")


# -- commands and links -------------------------------------------------------------------------


def targets():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([A-Za-z][\w-]*)\s*:(?!=)", makefile, re.M))


def commands(text):
    """Lines of shell blocks, and inline code."""
    for _, code in blocks(text, SHELLS):
        for row in code.splitlines():
            yield re.sub(r"^\s*[$%>]\s+", "", row).partition(" #")[0].strip()
    for inline in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
        yield inline.strip()


def made(text):
    found = set()
    for command in commands(text):
        for part in re.split(r"&&|\|\||;|\|", command):
            words = part.split()
            if words[:1] == ["make"]:
                found |= {w for w in words[1:] if "=" not in w and not w.startswith("-")}
    return found


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_make_target_mentioned_exists(page):
    assert made(page.read_text(encoding="utf-8")) - targets() == set()


def test_make_targets_are_found_in_text():
    text = "Run `make demo`.\n```console\n$ make test lint  # all\n$ cd x && make -j2 bench\n```\n"
    assert made(text) == {"demo", "test", "lint", "bench"}
    assert {"demo", "test"} <= targets()


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_local_link_leads_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(\s*<?([^)\s>]+)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    local = [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:|#", link)]
    assert [link for link in local if link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_script_mentioned_exists(page):
    text = page.read_text(encoding="utf-8")
    scripts = set(re.findall(r"\b((?:examples|benchmarks|docs|src|tests)/[\w./-]+\.py)\b", text))
    assert {script for script in scripts if not (ROOT / script).exists()} == set()
