"""Runs a page as its reader would: block after block, in one folder, comparing what is shown."""

import ast
import contextlib
import doctest
import io
import math
import re
import shlex
import threading
import tokenize
import tomllib
import urllib.request
import webbrowser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin

from tellapart import web
from tellapart.cli import main

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^( *)(`{3,}|~{3,})[ \t]*([\w+{}-]*)[^\n]*\n(.*?)^ *\2[ \t]*$", re.M | re.S)
CODE = re.compile(
    r"^ *(\$ |>>> |import [\w.]+$|from \S+ import |with |def |print\(|pip install |make [a-z-]+$|"
    r"tellapart [a-z]+ .*--|.*\b(ta|audit|choose|risk|plot)\.\w+\()",
    re.M,
)
PROMISE = re.compile(r"#\s*(?:->|→|=>)\s*(.+?)\s*$")
MARKDOWN = MarkdownIt("commonmark").use(colon_fence_plugin)


def blocks(text):
    """(language, first line number, code) of each fenced block."""
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start(4)) + 1
        indent = len(fence[1])
        code = "".join(row[indent:] for row in fence[4].splitlines(keepends=True))
        yield fence[3], line, code


def look_for_others(text, where):
    """Whatever else Markdown shows as code, in quotes, lists, HTML or by indenting, is an error."""
    fenced = {line for _, line, _ in blocks(text)}
    for token, line in tokens(text):
        if token.type in ("fence", "code_block", "colon_fence", "html_block"):
            seen = token.type == "fence" and line in fenced
            seen = seen or (token.type == "colon_fence" and laid_out(token))
            assert seen, f"{where}, line {line}: nothing runs this {token.type}"


def tokens(text, before=0):
    """What Markdown makes of a page, and of what its grids and cards hold, each with its line."""
    for token in MARKDOWN.parse(text):
        line = before + (token.map[0] if token.map else 0)
        yield token, line + 2
        if token.type == "colon_fence" and laid_out(token):
            yield from tokens(token.content, line + 1)


def laid_out(token):
    """Whether a fence with colons only says where what it holds stands."""
    return token.info.split()[0] in ("{grid}", "{grid-item}", "{grid-item-card}")


def run_page(text, where):
    """Run every block; one that no one can run is an error. How many ran, by language."""
    look_for_others(text, where)
    namespace = {"__name__": "__page__"}
    counts = {}
    for language, line, code in blocks(text):
        if language not in RUNNERS:
            raise AssertionError(f"{where}, line {line}: nothing runs a block of {language!r}")
        RUNNERS[language](code, namespace, f"{where}, block at line {line}")
        counts[language] = counts.get(language, 0) + 1
    return counts


# -- python -------------------------------------------------------------------------------------


def run_python(code, namespace, where):
    session = re.search(r"^\s*>>> ", code, re.M)
    (run_session if session else run_script)(code, namespace, where)


def run_script(code, namespace, where):
    """Run a block statement by statement and check every trailing `# -> value`."""
    kept = promises(code)
    for statement in ast.parse(code).body:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            value = value_of(statement, namespace)
        promise = kept.pop(statement.end_lineno, None)
        if promise:
            line = f"{where}, line {statement.end_lineno}: {promise}"
            got = out.getvalue().strip() or repr(value)
            assert keeps(value, out.getvalue(), promise), f"{line}\n  got {got}"
    assert kept == {}, f"{where}: promises that end no statement: {kept}"


def promises(code):
    """What each line's comment says comes out, by its number."""
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
    promised = {line: PROMISE.match(comment) for line, comment in comments.items()}
    return {line: match[1] for line, match in promised.items() if match}


def value_of(statement, namespace):
    """Run one statement; give what it evaluates to, or the value it assigns."""
    if isinstance(statement, ast.Expr):
        code = compile(ast.Expression(statement.value), "<page>", "eval")
        return eval(code, namespace)  # noqa: S307
    exec(compile(ast.Module([statement], []), "<page>", "exec"), namespace)  # noqa: S102
    target = getattr(statement, "targets", [getattr(statement, "target", None)])[0]
    return namespace.get(target.id) if isinstance(target, ast.Name) else None


def keeps(value, printed, promise):
    """Whether the comment shows the value; after a comma it may go on in words."""
    parts = promise.split(", ")
    shown = [", ".join(parts[: k + 1]) for k in range(len(parts))]
    return any(agrees(value, printed, part) for part in shown)


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


def run_session(code, namespace, where):
    """Run a block that carries `>>>` prompts as a doctest."""
    session = doctest.DocTestParser().get_doctest(code, namespace, where, None, 0)
    report = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    result = runner.run(session, out=report.write, clear_globs=False)
    namespace.update(session.globs)
    assert result.failed == 0, report.getvalue()


# -- commands -----------------------------------------------------------------------------------


def run_console(code, _namespace, where):
    """Run each `$ tellapart …` and compare what it prints; look up what others name."""
    for words, shown in typed(code):
        if words[0] == "make":
            assert set(words[1:]) <= targets(), f"{where}: no such target: {words}"
        elif words[:2] == ["pip", "install"]:
            assert set(re.findall(r"[\w-]+", words[2])) <= extras(), f"{where}: {words}"
        elif words[0] == "tellapart":
            run_command(words[1:], shown)
        else:
            raise AssertionError(f"{where}: nothing runs {words}")
        if words[0] != "tellapart":
            assert not shown, f"{where}: shown under what is not run: {shown}"


def typed(code):
    """(words, the lines shown under it) of each command in a block."""
    before, *parts = re.split(r"^\$ ", code, flags=re.M)
    assert not before.strip(), f"shown before any command: {before}"
    for part in parts:
        command, *shown = part.replace("\\\n", " ").splitlines()
        yield shlex.split(command.partition(" #")[0]), shown


def run_command(words, shown):
    if words[0] in ("explore", "serve"):
        with visited_once():
            assert main(words) == 0
        return
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(words)
    printed = out.getvalue()
    ends = {"REFUTED": 1, "DOES NOT STAND": 1, "NO": 1, "NO CLAIM": 3, "NO VERDICT": 3}
    assert code == ends.get(printed.partition(":")[0], 0), printed
    assert not shown or shows(printed, shown), f"{' '.join(words)}\n{printed}"


@contextlib.contextmanager
def visited_once():
    """The page's browser is one that reads it, and then it is no longer served.

    Not by a signal: Ctrl-C is ignored where tests are a script's background job.
    """
    answers, left = [], threading.Event()

    def visit(where):
        try:
            with urllib.request.urlopen(where, timeout=60) as page:  # noqa: S310
                answers.append(page.status)
        finally:
            left.set()

    def serve(port, **asked):
        asked |= {"until": left, "browser": True, "host": "127.0.0.1"}  # and for nobody else
        serves(web.free_port(), **asked)

    serves = web.serve
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webbrowser, "open", visit)
        patch.setattr(web, "serve", serve)
        yield
    assert answers == [200]


def shows(printed, shown):
    """Whether the shown lines are the printed ones, in order; `...` stands for any number."""
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if row == "..." else re.escape(row) + r" *\n" for row in shown
    )
    return re.fullmatch(pattern, printed) is not None


def targets():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([A-Za-z][\w-]*)\s*:(?!=)", makefile, re.M))


def extras():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return set(declared["project"]["optional-dependencies"])


# -- files, and what is only shown --------------------------------------------------------------


def run_toml(code, _namespace, where):
    """A file that is shown, or some of its tables, are those of an example, but for comments."""
    examples = [
        tomllib.loads(path.read_text(encoding="utf-8")) for path in Path("examples").rglob("*.toml")
    ]
    shown = tomllib.loads(code)
    same = (all(example.get(key) == x for key, x in shown.items()) for example in examples)
    assert shown, where
    assert any(same), f"{where}: no example says this"


def look_at_text(code, _namespace, where):
    """What a script printed; code must not hide here."""
    assert not CODE.search(code), f"{where}: code that is not run"


def pass_by(_code, _namespace, _where):
    """What the build reads, and warns of."""


RUNNERS = {
    "python": run_python,
    "console": run_console,
    "toml": run_toml,
    "text": look_at_text,
    "{eval-rst}": pass_by,
    "{gallery}": pass_by,
    "{glossary}": pass_by,
    "{include}": pass_by,
    "{toctree}": pass_by,
}
