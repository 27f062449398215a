"""One story, end to end: what a claim of ε means, which ε to choose, and whether code keeps it.

Run `make demo`. Every number printed here is computed here; nothing is typed in.
"""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import tellapart as ta
from tellapart import audit, choose, report, reproduce, risk

sys.path.insert(0, str(Path(__file__).parent))
import release

HERE = Path(__file__).parent
FOLDER = Path("build/demo")
CHAPTERS = 7
_done: list[str] = []


@contextmanager
def chapter(title: str) -> Iterator[None]:
    """A numbered part of the story, with how long it took."""
    _done.append(title)
    print(f"\n[{len(_done)}/{CHAPTERS}] {title}", flush=True)
    start = perf_counter()
    yield
    took = perf_counter() - start
    if took > 0.5:
        print(f"      ({took:.1f} s)", flush=True)


def say(text: str) -> None:
    """Print sentences that fit a terminal."""
    width = min(80, shutil.get_terminal_size().columns)
    for line in text.splitlines():
        kept = line.replace(" %", "\N{NO-BREAK SPACE}%")
        filled = textwrap.fill(kept, width, initial_indent="  ", subsequent_indent="    ")
        print(filled.replace("\N{NO-BREAK SPACE}", " "), flush=True)


def meaning() -> None:
    """What a claim of ε = 1 lets an attacker do."""
    with chapter("Someone claims ε = 1. What does that mean?"):
        say("Membership inference: from an output, was your record in the data?")
        say("Suppose 1 person in 100 is a member. Then:")
        say(risk.words(ta.guarantee(epsilon=1), prior=0.01, out_of=1_000))


def choosing() -> None:
    """ε from a risk that someone can accept."""
    with chapter("You may accept a membership advantage of 5 %. Which ε keeps it?"):
        say("Membership advantage: the largest TPR − FPR of any attack.")
        limit = choose.at_most(0.05, risk.advantage)
        anything = choose.largest(ta.guarantee, [limit])
        noise = choose.largest(ta.Laplace.with_epsilon, [limit])
        any_one, laplace = anything.rounded(4), noise.rounded(4)
        say(f"Any mechanism up to ε = {any_one}; Laplace noise up to {laplace}.")


def training() -> None:
    """The same question about a model trained by DP-SGD."""
    with chapter("The same for a model: 1,000 steps of DP-SGD on 1 % of the records each"):
        say("DP-SGD clips what each record adds to a step, and adds noise to the sum.")
        limit = choose.at_most(0.05, risk.advantage)
        chosen = choose.least(lambda noise: ta.dp_sgd(noise, 0.01, 1_000), [limit], certified=True)
        epsilon = ta.dp_sgd(chosen.rounded(4), 0.01, 1_000).curve().epsilon(delta=1e-5)
        say(f"It takes a noise multiplier of {chosen.rounded(4)}, certified.")
        say("That is the noise as a multiple of the clip, with every numerical error counted.")
        say(f"That is ε = {epsilon:.4f} at δ = 1e-5.")


def probing() -> None:
    """Code that keeps its claim, and code that does not."""
    with chapter("Does code keep its claim? Black-box audits of two functions that claim ε = 1"):
        claim = ta.guarantee(epsilon=1)
        say("Each is called 100,000 times on two neighbouring inputs, [3, 1] and [3, 1, 4].")
        functions = {
            release.correct_count: "with the noise it needs",
            release.noisy_count: "with half of it",
        }
        for function, noise in functions.items():
            say(f"\nexamples/release.py, {function.__name__}, {noise}:")
            verdict = audit.probe(function, [3, 1], [3, 1, 4], claim=claim, samples=100_000, seed=1)
            say(str(verdict))


def auditing() -> Path:
    """A verdict from attack scores in a file, and a page about it."""
    with chapter("An audit of attack scores: examples/scores.csv claims ε = 1, too"):
        say("Scores of 1,000 members and 1,000 non-members are enough for a verdict.")
        file = HERE / "scores.csv"
        scores = audit.Scores.read(file)
        verdict = audit.judge(ta.guarantee(epsilon=1), audit.many_runs(scores))
        say(str(verdict))
        command = f"tellapart audit examples/{file.name} --design many-runs --epsilon 1"
        page = FOLDER / "audit.html"
        report.write(report.of(verdict, scores=scores, files=[file], command=command), page)
        return page


def founding() -> Path:
    """The figures and the table of Liu et al. (2019), with what is wrong in print."""
    with chapter("Liu et al. (2019), the paper that began this, beside what is exact"):
        say("Its nine figures and its table are made anew, which takes a few seconds ...")
        for verdict, count in reproduce.verdicts(reproduce.table_one()).items():
            say(f"{count:2d} cells of its Table 1: {verdict.value}")
        return reproduce.run(FOLDER).page


def main() -> None:
    """Tell the story."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal without ε shows ? in its place
        sys.stdout.reconfigure(errors="replace")
    FOLDER.mkdir(parents=True, exist_ok=True)
    print("tellapart: how well can an attacker tell who was in the data?")
    meaning()
    choosing()
    training()
    probing()
    page = auditing()
    figures = founding()
    with chapter("Where to go from here"):
        say(f"The report of step 5, to open in a browser or to send: {page}")
        say(f"The paper's figures and table, to open in a browser: {figures}")
        say("A page to play with: .venv/bin/tellapart explore")
        say("Every command: .venv/bin/tellapart --help")
        say("Five minutes more: docs/tour.md")


if __name__ == "__main__":
    main()
