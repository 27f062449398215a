"""What the page says of an attacker's knowledge, against formulas and enumeration."""

import itertools
import json
import math
import os
import re
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from copied_code import printed

from tellapart import choose
from tellapart.cli import main
from tellapart.drawing.record import Mark
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.report import page
from tellapart.web.answer import Answer, Table
from tellapart.web.controls import Control, ControlGroup
from tellapart.web.views.correlated import VIEW, CorrelatedState
from tellapart.worlds import JointTable, Sum


def shown(**values: object) -> Answer:
    return VIEW.answer(VIEW.read(values))


def table(answer: Answer) -> Table:
    found = answer.parts[0]
    assert isinstance(found, Table)
    return found


def logit(share: float) -> float:
    return math.log(share / (1 - share))


def test_the_largest_epsilon_is_the_room_between_prior_and_limit() -> None:
    rng = np.random.default_rng(3)
    for p, c, t in (rng.random((12, 3)) * (0.4, 0.15, 0.15)).tolist():
        answer = shown(rho_p=p, rho_c=c, rho_t=t, bound=0.95)
        odds = (2 - p) * (1 - c) * (1 - t) - 1
        *_, gamma, epsilon = table(answer).rows[-1]
        assert float(gamma) == pytest.approx(odds, rel=1e-3)
        room = logit(0.95) + math.log(odds)
        assert float(epsilon) == pytest.approx(room, abs=1e-4)
        assert float(epsilon) <= room + 1e-12


def test_laplace_noise_under_an_f_score_is_as_in_the_papers_formula() -> None:
    answer = shown(rho_p=0, rho_c=0, rho_t=0, measure="f_score", release="laplace")
    right = math.log(0.9 * 1.1 / (4 * 0.01))
    assert table(answer).rows == (("nothing", "0.5", "1", f"{math.floor(right * 1e4) / 1e4:.4f}"),)


def test_one_row_for_each_thing_that_is_known() -> None:
    names = [row[0] for row in table(shown()).rows]
    assert names == ["nothing", "the prior", "correlated records, too", "earlier records, too"]
    assert [row[0] for row in table(shown(rho_p=0, rho_c=0)).rows] == ["nothing", "earlier records"]


def test_what_is_known_anyway_cannot_be_hidden() -> None:
    answer = shown(bound=0.6)
    assert answer.mark is Mark.BAD
    assert answer.headline.startswith("No ε keeps the limit")
    assert [row[-1] for row in table(answer).rows][-1] == "none"


def test_ignoring_knowledge_breaks_the_limit_by_what_is_said() -> None:
    answer = shown()
    assert answer.headline == "ε = 1.4163 at most, not 2.1972"
    ignored = 1 / (1 + 0.458 * math.exp(-2.1972))
    assert f"{math.ceil(ignored * 1e4) / 1e4:.4f}" in answer.sentences[1]


def test_each_line_meets_the_limit_at_its_epsilon() -> None:
    drawing = shown(measure="ppv").drawing
    assert drawing is not None
    for line, row in zip(drawing.traces[1:], table(shown(measure="ppv")).rows, strict=True):
        at = np.interp(math.log(float(row[-1])), np.log(line.x), line.y)
        assert at == pytest.approx(0.9, abs=2e-3)
    assert {spot.y for spot in drawing.spots} == {0.9}


def test_coefficients_that_no_probability_has_are_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"no probability exceeds 1, got \(0.0, 0.6, 0.1\)"):
        shown(rho_p=0, rho_c=0.6)


@pytest.mark.parametrize("measure", ["posterior", "ppv", "f_score"])
def test_python_and_command_find_the_same_epsilon(
    measure: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = shown(measure=measure, rho_c=0.05)
    rows = table(answer).rows
    for line, row in zip(printed(answer.python).splitlines(), rows, strict=True):
        assert f" {float(row[-1])!r} " in line
    assert main([*shlex.split(answer.command)[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == float(rows[-1][-1])


def true_epsilon(stays: tuple[float, float], length: int, scale: float) -> float:
    """By listing all data: ratios of Laplace mixtures are extreme at whole outputs."""
    move = np.array([[stays[0], 1 - stays[0]], [1 - stays[1], stays[1]]])
    first = np.array([move[1, 0], move[0, 1]]) / (move[1, 0] + move[0, 1])
    outputs, worst = np.arange(length + 1), 0.0
    for record in range(length):
        seen = np.zeros((2, length + 1))
        prior = np.zeros(2)
        for data in itertools.product((0, 1), repeat=length):
            chance = first[data[0]] * math.prod(move[a, b] for a, b in itertools.pairwise(data))
            seen[data[record]] += chance * np.exp(-np.abs(outputs - sum(data)) / scale)
            prior[data[record]] += chance
        worst = max(worst, float(np.abs(np.log(seen[0] / prior[0] / (seen[1] / prior[1]))).max()))
    return worst


@pytest.mark.parametrize(("stays", "length"), [((0.9, 0.6), 5), ((0.5, 0.5), 3), ((0.7, 0.8), 2)])
def test_noise_in_a_chain_gives_what_enumeration_finds(
    stays: tuple[float, float], length: int
) -> None:
    answer = shown(about="chain", stay_0=stays[0], stay_1=stays[1], length=length, epsilon=0.7)
    plain, enough, group = table(answer).rows
    assert float(plain[3][2:]) == pytest.approx(true_epsilon(stays, length, 1 / 0.7), abs=1e-4)
    scale = float(enough[1])
    assert true_epsilon(stays, length, scale) <= 0.7 + 1e-12
    assert true_epsilon(stays, length, scale - 2e-4) > 0.7
    assert float(group[1]) == pytest.approx(length / 0.7, abs=1e-4)
    assert answer.drawing is not None
    (spot,), line = answer.drawing.spots, answer.drawing.traces[1]
    assert line.y[line.x.index(spot.x)] == pytest.approx(spot.y, rel=1e-9)


def test_independent_records_need_no_more_noise() -> None:
    for stay, length, epsilon in ((0.75, 20, 1), (0.5, 100, 1), (0.5, 7, 0.3), (0.6, 50, 2)):
        chain = {"about": "chain", "stay_0": stay, "stay_1": 1 - stay, "epsilon": epsilon}
        answer = shown(**chain, length=length)
        assert answer.headline == f"Noise for ε = {epsilon} keeps ε = {epsilon}"
        assert answer.cards[1].value == "× 1"
        assert answer.cards[3].value == f"× {length}"


def test_records_that_are_hardly_correlated_need_a_little_more() -> None:
    answer = shown(about="chain", stay_0=0.50001, stay_1=0.5, length=7, epsilon=0.3)
    assert answer.headline == "Set the noise for ε = 0.2999 to keep ε = 0.3"
    assert answer.cards[1].value == "× 1.01"
    words = re.findall("scale ([0-9.]+), not ([0-9.]+)[.]", answer.sentences[1])
    assert float(words[0][0]) > float(words[0][1])


def pasted(command: str, folder: Path) -> str:
    """What bash prints of a command as the page hands it out."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    bash = ["bash", "-e", "-c", command]
    ran = subprocess.run(  # noqa: S603
        bash, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_chains_python_and_command_say_what_the_page_says(tmp_path: Path) -> None:
    answer = shown(about="chain", length=60)
    told = json.loads(pasted(f"{answer.command} --json", tmp_path))["methods"]
    methods = {one["method"]: (one["scale"], one["true_epsilon"]) for one in told}
    lines = [
        [float(one) for one in line.split() if one != "="]
        for line in printed(answer.python).splitlines()
    ]
    names = ("plain DP", "exact", "group privacy")
    for name, row, line in zip(names, table(answer).rows, lines, strict=True):
        scale, true = methods[name]
        assert (float(row[1]), float(row[3][2:])) == pytest.approx((scale, true), abs=1e-4)
        assert (line[0], line[2]) == pytest.approx((scale, true), rel=1e-9)


def test_chains_that_a_page_has_no_time_for_are_refused() -> None:
    with pytest.raises(Unsupported, match="tellapart noise"):
        shown(about="chain", stay_0=0.3, stay_1=0.4)
    with pytest.raises(InvalidArgument, match="length must"):
        shown(about="chain", length=301)
    with pytest.raises(InvalidArgument, match="stay_0 must"):
        shown(about="chain", stay_0=1)


def test_unknown_words_in_a_url_are_refused() -> None:
    for values in ({"about": "x"}, {"measure": "x"}, {"release": "x"}):
        with pytest.raises(InvalidArgument, match="must be one of"):
            shown(**values)


def values_of(controls: list[Control]) -> dict[str, object]:
    found: dict[str, object] = {}
    for one in controls:
        if isinstance(one, ControlGroup):
            found |= values_of(list(one.controls))
        else:
            found[one.field] = getattr(one, "value", None)
    return found


@pytest.mark.parametrize("about", ["coefficients", "chain"])
def test_what_is_not_shown_now_is_not_lost(about: str) -> None:
    state = CorrelatedState(about, 0.3, 0.05, 0.02, "ppv", 0.8, 0.2, "laplace", 2.0, 0.8, 0.7, 30)
    assert VIEW.read(values_of(list(VIEW.controls(state)))) == state


def test_a_small_table_is_as_the_library_says() -> None:
    answer = shown(about="table", epsilon=0.7, p00=3, p01=1, p10=1, p11=3)
    model = JointTable([[0, 1], [0, 1]], [[0.375, 0.125], [0.125, 0.375]])
    found = choose.noise_table(model, Sum(), 0.7)
    rows = answer.parts[0].rows
    assert [row[0] for row in rows] == [row.method for row in found]
    assert [float(row[1]) for row in rows] == pytest.approx([row.scale for row in found], abs=2e-4)
    out = printed(answer.python)
    for row in rows:
        assert row[1] in out
    assert float(answer.number) <= 1 / found[0].scale  # never less noise than it takes
    spot, line = answer.drawing.spots[0], answer.drawing.traces[1]
    assert np.interp(spot.x, line.x, line.y) == pytest.approx(spot.y)
    independent = shown(about="table", p00=1, p01=1, p10=1, p11=1)
    assert independent.headline == "Noise for ε = 1 keeps ε = 1 for these records."


@pytest.mark.parametrize("about", ["coefficients", "chain", "table"])
def test_the_report_says_what_the_page_says(about: str, tmp_path: Path) -> None:
    state = VIEW.read({"about": about, "length": 20})
    answer, filed = VIEW.answer(state), VIEW.report(state)
    assert answer.reports
    assert filed.drawings == answer.drawings
    assert set(answer.sentences) <= set(filed.reasons)
    if about == "coefficients":
        assert filed.tables[0].rows == table(answer).rows
        said, command = filed.made.command.split("\n")  # which writes no report, and says so
        assert said.startswith("# ")
        assert said.endswith("only the page writes this report.")
        assert command == answer.command
        assert pasted(filed.made.command, tmp_path).startswith(f"epsilon = {answer.number}")
        return
    scales = {row[0]: row[1] for row in filed.tables[0].rows}
    methods = {"plain DP", "group privacy", "exact"}
    assert {scales[name] for name in methods} <= {cells[1] for cells in table(answer).rows}
    frameworks = {row[0]: row[1] for row in filed.tables[1].rows}
    assert frameworks["Pufferfish"] == answer.cards[0].value
    pasted(filed.made.command, tmp_path)
    written = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert written["headline"] == filed.headline
    assert [row[1] for row in written["tables"][0]["rows"]] == [*scales.values()]
    # The headline's noise is not that of which an ε of this model could be said.
    assert not any("under this model" in reason for reason in filed.reasons)
    shown_lines = re.search(r"<pre><code>(.*?)</code></pre>", page(filed), re.DOTALL)[1]
    assert all("\n" not in word for word in re.findall("<span>(.*?)</span>", shown_lines, re.S))
    assert unescape(re.sub("<[^>]+>", "", shown_lines)) == filed.made.command
