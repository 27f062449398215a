"""The README and the pages of docs/ are run, and what they promise exists."""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from page_runner import FENCE, ROOT, blocks, look_at_text, run_console, run_page, shows, targets

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
PROSE = [*sorted(ROOT.glob("*.md")), *PAGES[1:]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where a reader is: beside the examples, free to write."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "80")


# What Opacus and torch always say.
@pytest.mark.filterwarnings("ignore:Secure RNG turned off:UserWarning")
@pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning")
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_block_runs_and_shows_what_comes_out(page):
    run_page(page.read_text(encoding="utf-8"), page.name)


def test_the_readme_shows_code_and_commands():
    languages = [
        language for language, *_ in blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    ]
    assert {"python", "console"} <= set(languages)


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
    assert run_page(GOOD, "good") == {"python": 3}


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
        "1 + 1# -> 3",
        "1 + 1  # => 3",
        "1 + 1\n# -> 3",
        "max(  # -> 3\n    1, 2)",
        "if True:\n    1 + 1  # -> 3\n    2",
        "(1, 2)  # -> (1, 3), a pair",
        'print("a")  # -> b',
        "None  # -> 1",
        ">>> 1 + 1\n3",
        ">>> 1 / 0\n0",
        "this is no python",
        "assert False",
    ],
)
def test_the_runner_notices_bad_code(code):
    with pytest.raises((AssertionError, ArithmeticError, NameError, SyntaxError)):
        run_page(f"```python\n{code}\n```\n", "bad")


COMMAND = "$ tellapart region --epsilon 1 --fpr 0.01 --tpr 0.02\n"


@pytest.mark.usefixtures("folder")
def test_commands_read_what_code_before_them_wrote():
    page = (
        "```python\nfrom pathlib import Path\n"
        'Path("own.csv").write_text(Path("examples/scores.csv").read_text())\n```\n'
        "```console\n$ tellapart audit own.csv --design many-runs \\\n      --epsilon 1\n"
        "REFUTED: the claim ε = 1, δ = 0, at 95 % confidence\n...\n```\n"
    )
    assert run_page(page, "good") == {"python": 1, "console": 1}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "code",
    [
        "$ tellapart risk --epsilon -1\n",
        "$ tellapart no-such-command\n",
        COMMAND + "something else\n",
        "without a prompt\n" + COMMAND,
        "tellapart risk --epsilon 1\n",
        "$ make no-such-target\n",
        "$ make demo\nsomething\n",
        "$ pip install '.[no-such-extra]'\n",
        "$ rm -r everything\n",
    ],
)
def test_the_runner_notices_bad_commands(code):
    with pytest.raises(AssertionError):
        run_console(code, {}, "bad")


def test_code_in_a_grid_is_run():
    card = "::::{grid} 2\n:::{grid-item}\n```python\n1 + 1  # -> 2\n```\n:::\n::::\n"
    assert run_page(card, "good") == {"python": 1}
    with pytest.raises(AssertionError):
        run_page(card.replace("# -> 2", "# -> 3"), "bad")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "block",
    [
        ":::{grid-item}\n```ruby\nputs 1\n```\n:::\n",
        "::::{grid} 1\n:::{grid-item}\n> ```python\n> 1\n> ```\n:::\n::::\n",
        '```toml\ntitle = "no such example"\n```\n',
        "```text\n$ tellapart risk --epsilon 1\n```\n",
        "```text\nimport joblib\n```\n",
        "```text\ncurve = ta.guarantee(epsilon=1)\n```\n",
        "```text\npip install tellapart\n```\n",
        "```ruby\nputs 1\n```\n",
        "```\nplain\n```\n",
        "```python\n1 / 0\n",
        "> ```python\n> 1\n> ```\n",
        "- ```python\n  1\n  ```\n",
        "-\ta\n\n\t```python\n\t1\n\t```\n",
        ":::{code-block} python\n1\n:::\n",
        "```{note}\n1\n```\n",
        "<pre>1</pre>\n",
        "text\n\n    1\n",
    ],
)
def test_a_block_that_is_not_run_is_noticed(block):
    with pytest.raises(AssertionError):
        run_page(block, "bad")


@pytest.mark.skipif(os.name != "posix", reason="signals can be ignored there")
def test_a_served_page_is_left_where_signals_are_ignored():
    """As in a script's background job, where nothing but the visitor's leaving can end it."""
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run_console("$ tellapart explore\n", {}, "good")
    finally:
        signal.signal(signal.SIGINT, usual)


def test_a_test_that_hangs_is_named_and_shown(tmp_path):
    (tmp_path / "test_endless.py").write_text(
        "import signal, time\n"
        "def test_that_never_ends():\n"
        "    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "    while True: time.sleep(1)  # here\n"
    )
    words = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "--timeout", "1"]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pytest", *words, str(tmp_path / "test_endless.py")],
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert done.returncode != 0
    assert "Timeout" in done.stdout + done.stderr
    assert "in test_that_never_ends" in done.stdout + done.stderr
    assert "# here" in done.stdout + done.stderr


def test_what_a_script_printed_may_be_shown():
    look_at_text("mechanism   median\nLaplace       43.1\n", {}, "good")


def test_what_is_shown_must_be_printed():
    printed = "one\ntwo  \nthree\n"
    assert shows(printed, ["one", "two", "three"])
    assert shows(printed, ["one", "..."])
    assert shows(printed, ["...", "two", "..."])
    assert not shows(printed, ["one", "three"])
    assert not shows(printed, ["one", "two", "tree"])
    assert not shows(printed, ["one", "two"])


# -- what is mentioned in prose -----------------------------------------------------------------


def made(text):
    """Targets of `make` named in inline code."""
    files = set()
    for inline in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
        words = inline.split()
        if words[:1] == ["make"]:
            files |= {w for w in words[1:] if "=" not in w and not w.startswith("-")}
    return files


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_every_make_target_mentioned_exists(page):
    assert made(page.read_text(encoding="utf-8")) - targets() == set()


def test_make_targets_are_found_in_text():
    assert made("Run `make demo`, `make -j2 test lint` or `make x=1 bench`; `other demos`.") == {
        "demo",
        "test",
        "lint",
        "bench",
    }
    assert {"demo", "test"} <= targets()


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_every_script_mentioned_exists(page):
    text = page.read_text(encoding="utf-8")
    scripts = set(re.findall(r"\b((?:examples|benchmarks|docs|src|tests)/[\w./-]+\.py)\b", text))
    assert {script for script in scripts if not (ROOT / script).exists()} == set()
