"""The pytest plugin: options, and a summary of what `assert_private` probed.

A package of its own and not a part of tellapart, as whoever imports a part of that loads NumPy,
and pytest loads its plugins in every suite, whether or not anything in it is probed.
`tellapart.testing` finds this one in ``sys.modules`` and tells it what was asked and found.
"""

from __future__ import annotations

import math
import os
from collections.abc import Generator
from typing import Any

import pytest

__all__ = ["chosen", "record"]

_ATTRIBUTE = "tellapart_probes"
_SEED = "tellapart_seed"
# A chance that any of many probes fails which is larger than this tells nobody anything.
_SAYS_LITTLE = 0.5
# Only what is plain travels from the workers of pytest-xdist.
Probe = dict[str, Any]
# One for each pytest that runs in this process: tests of plugins start others inside.
_running: list[_Session] = []


def chosen(name: str) -> int | None:
    """What the command line says of ``seed`` or ``samples``; None if nothing."""
    option = _running[-1].config.getoption(f"tellapart_{name}") if _running else None
    return None if option is None else int(option)


def record(probe: Probe) -> None:
    """Keep what a probe found for the report of the test that runs."""
    if _running:
        _running[-1].fresh.append(probe)


def _seed(text: str) -> int:
    if text == "random":
        return int.from_bytes(os.urandom(4), "big")
    return _whole(text)


def _whole(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise pytest.UsageError(f"must be a whole number of at least 0, got {text!r}")
    return number


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for what tests leave open."""
    group = parser.getgroup("tellapart", "probing privacy claims")
    group.addoption(
        "--tellapart-seed",
        type=_seed,
        default=None,
        metavar="SEED",
        help="seed of every assert_private that names none (default 0); 'random' draws one",
    )
    group.addoption(
        "--tellapart-samples",
        type=_whole,
        default=None,
        metavar="N",
        help="calls on each input of every assert_private that names none (default 100000)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to gather; a worker of pytest-xdist takes the seed that was drawn at home."""
    drawn = getattr(config, "workerinput", {}).get(_SEED)
    if drawn is not None:
        config.option.tellapart_seed = drawn
    session = _Session(config)
    _running.append(session)
    config.pluginmanager.register(session, "tellapart-session")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop gathering."""
    _running[:] = [session for session in _running if session.config is not config]


class _Session:
    """What one run of pytest has probed."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.fresh: list[Probe] = []
        self.probed: list[tuple[str, Probe]] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Hand the seed to a worker."""
        node.workerinput[_SEED] = self.config.getoption(_SEED)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send what was probed along with the test's report, which workers send home."""
        report = yield
        setattr(report, _ATTRIBUTE, self.fresh)
        self.fresh = []
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather what was probed, here or by a worker."""
        self.probed += [(report.nodeid, probe) for probe in getattr(report, _ATTRIBUTE, ())]

    def pytest_report_header(self) -> str | None:
        """The seed, where the command line gave one."""
        seed = self.config.getoption(_SEED)
        return None if seed is None else f"tellapart: --tellapart-seed={seed}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Each claim that was probed, and how likely all this fails by chance."""
        if not self.probed:
            return
        terminalreporter.ensure_newline()
        terminalreporter.section("privacy claims probed by tellapart")
        quiet = self.config.get_verbosity() < 0
        # A probe that could refute nothing passes whatever it probes: nothing hides that.
        shown = [probe for probe in self.probed if not (quiet and probe[1]["could_refute"])]
        for line in _lines(shown):
            terminalreporter.write_line(line)
        hidden = len(self.probed) - len(shown)
        if hidden:
            what = "1 probe is" if hidden == 1 else f"{hidden:,} probes are"
            terminalreporter.write_line(f"{what} not listed: leave out -q to see all")
        terminalreporter.write_line(_together([probe for _, probe in self.probed]))


def _lines(probed: list[tuple[str, Probe]]) -> list[str]:
    """One line for each mechanism and claim of a test, however often it was probed."""
    grouped: dict[tuple[str, str, str], list[Probe]] = {}
    for node, probe in probed:
        grouped.setdefault((node, probe["mechanism"], probe["claim"]), []).append(probe)
    lines, last = list[str](), ""
    for (node, mechanism, claim), probes in grouped.items():
        if node != last:
            lines.append(node)
        last = node
        lines.append(f"  {mechanism}: claim {claim}; {_outcomes(probes)}; {_cost(probes)}")
    return lines


def _outcomes(probes: list[Probe]) -> str:
    words = sorted({probe["outcome"] for probe in probes})
    shown = [probe["epsilon"] for probe in probes if probe["epsilon"] is not None]
    if shown:
        words.append(f"shown: ε ≥ {_short(math.floor(100 * max(shown)) / 100)}")
    return ", ".join(words)


def _cost(probes: list[Probe]) -> str:
    times = "" if len(probes) == 1 else f" in {len(probes)} probes"
    calls, seconds = (
        sum(probe["calls"] for probe in probes),
        sum(probe["seconds"] for probe in probes),
    )
    return f"{calls:,} calls{times}, {seconds:.2f} s"


def _together(probes: list[Probe]) -> str:
    """A union bound: whatever the tests have in common, their chances add up at most.

    Once the sum says nothing of the whole it still is the number of failures to expect at most.
    """
    each = [probe["false_alarm"] for probe in probes]
    seconds = sum(probe["seconds"] for probe in probes)
    what = "1 probe" if len(probes) == 1 else f"{len(probes):,} probes"
    who = "it fails" if len(probes) == 1 else "any of them fails"
    chance = _rounded_up(sum(each))
    said = f"{who} by chance with probability at most {_short(chance)}"
    if len(probes) > 1 and chance > _SAYS_LITTLE:
        said = (
            f"each fails by chance with probability at most "
            f"{_short(_rounded_up(max(each)))}, and at "
            f"most {_short(chance)} of them on average; false_alarm= makes either smaller"
        )
    return f"{what} in {seconds:.2f} s; if all claims are true, {said}"


def _short(value: float) -> str:
    """In the package's own digits; it is loaded by now, as something was probed."""
    from tellapart._numeric.text import short

    return short(value)


def _rounded_up(chance: float) -> float:
    """Two digits, and no less than this; but what adding up lost is not made one more."""
    unit = 10.0 ** (math.floor(math.log10(chance)) - 1)
    return math.ceil(chance / unit * (1 - 1e-9)) * unit
