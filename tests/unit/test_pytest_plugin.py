"""The plugin: found by pytest, light, with options and a summary, on workers too."""

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import pytest_tellapart

pytest_plugins = ["pytester"]

MECHANISMS = """
from tellapart.testing import assert_private

def noisy_count(data, rng, size=None):
    return len(data) + rng.laplace(0, 1, size)

def hasty_count(data, rng, size=None):
    return len(data) + rng.laplace(0, 0.5, size)

def probe(mechanism, **more):
    assert_private(mechanism, [1], [1, 2], epsilon=1, **more)
"""
GOOD = MECHANISMS + "\ndef test_good():\n    probe(noisy_count)\n"
BAD = MECHANISMS + "\ndef test_bad():\n    probe(hasty_count)\n"
FEW = "--tellapart-samples=4000"
PROBE = Path(__file__).parents[2] / "docs" / "probe.md"


def test_pytest_finds_it():
    (found,) = [one for one in entry_points(group="pytest11") if one.value == "pytest_tellapart"]
    # By the name of its module: whoever writes `-p pytest_tellapart` besides loads it once.
    assert found.name == "pytest_tellapart"


def test_naming_it_although_it_is_installed_does_no_harm(pytester):
    pytester.makepyfile(GOOD)
    result = pytester.runpytest_subprocess("-p", "pytest_tellapart", FEW)
    result.assert_outcomes(passed=1)


def test_it_loads_nothing_heavy():
    """Every suite on a machine where tellapart is installed loads the plugin."""
    code = "import sys, pytest, pytest_tellapart; print(*sys.modules)"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "pytest_tellapart" in loaded
    assert loaded & {"numpy", "scipy", "tellapart", "joblib", "cloudpickle", "rich"} == set()


def test_a_suite_that_probes_nothing_hears_nothing(pytester):
    pytester.makepyfile("def test_nothing():\n    pass\n")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1)
    assert "privacy" not in result.stdout.str()


def test_the_summary_names_each_claim_and_adds_up_false_alarms(pytester):
    pytester.makepyfile(
        MECHANISMS
        + """
def test_one():
    probe(noisy_count, samples=4_000)

def test_two():
    probe(noisy_count, samples=4_000, false_alarm=1e-3)
    probe(noisy_count, samples=4_000, false_alarm=1e-3)
"""
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=2)
    result.stdout.re_match_lines(
        [
            r"=+ privacy claims probed by tellapart =+",
            r".*::test_one",
            r"  noisy_count: claim ε = 1, δ = 0; not refuted, shown: ε ≥ 0\.\d+; 8,000 calls, .* s",
            r".*::test_two",
            r"  noisy_count: claim .*; not refuted, .*; 16,000 calls in 2 probes, .* s",
            r"3 probes in .* s; if all claims are true, any of them fails by chance with "
            r"probability at most 0\.0021",
        ],
        consecutive=True,
    )
    quiet = pytester.runpytest("-q").stdout.str()
    assert "3 probes in" in quiet
    assert "noisy_count" not in quiet


def test_the_page_on_probes_shows_this_summary(pytester, monkeypatch):
    monkeypatch.delitem(sys.modules, "test_release", raising=False)  # another of this suite
    page = PROBE.read_text(encoding="utf-8")
    code = re.search(r"^def correct_count.+?\n\nassert_private\(.+?\n", page, re.M | re.S)[0]
    function, _, line = code.partition("\n\n")
    test = f"def test_count():\n    {line}"
    imports = "from tellapart.testing import assert_private"
    pytester.makepyfile(test_release=f"{imports}\n\n{function}\n\n{test}")
    printed = pytester.runpytest().stdout.str()
    shown = re.search(r"^test_release\.py::test_count\n.+?(?=^```)", page, re.M | re.S)[0]
    took = re.compile(r"\d+\.\d+ s\b")
    assert took.sub("", shown) in took.sub("", printed)


def test_a_failure_says_how_to_see_it_again_and_that_does(pytester):
    pytester.makepyfile(test_it=BAD)
    result = pytester.runpytest(FEW, "--tellapart-seed=7")
    result.assert_outcomes(failed=1)
    again = "pytest test_it.py::test_bad --tellapart-seed=7 --tellapart-samples=4000"
    result.stdout.fnmatch_lines(
        [
            "tellapart: --tellapart-seed=7",
            ">       probe(hasty_count)",
            "E       AssertionError: hasty_count is not private as claimed (4,000 calls on each*",
            "E       REFUTED: the claim ε = 1, δ = 0, at *",
            "E       Where: output *",
            f"E       To see it again: {again}",
            "*hasty_count: claim ε = 1, δ = 0; REFUTED, shown: ε ≥ 1.*",
        ]
    )
    # The frames of the package are left out.
    assert "testing.py" not in result.stdout.str()
    once_more = pytester.runpytest(*again.split()[1:])
    shown = [row for row in once_more.outlines if "Where: output" in row]
    assert shown
    assert shown == [row for row in result.outlines if "Where: output" in row]


def test_what_cannot_be_judged_fails_and_is_listed(pytester):
    pytester.makepyfile(
        MECHANISMS
        + """
def test_counting():
    numbers = iter(range(10**6))
    probe(lambda data: next(numbers) % 3)
"""
    )
    result = pytester.runpytest(FEW)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E       tellapart.errors.Unsupported: test_counting.<locals>.<lambda>: no verdict: "
            "calls are not independent; *",
            "*<lambda>: claim ε = 1, δ = 0; CANNOT BE JUDGED; *",
        ]
    )


@pytest.mark.parametrize("claim", ["epsilon=1", "claim=ta.Laplace(1)"])
def test_every_claim_that_so_few_calls_cannot_refute_is_named(pytester, claim):
    test = f"assert_private(hasty_count, [1], [1, 2], {claim}, samples=20)"
    pytester.makepyfile(f"import tellapart as ta\n{MECHANISMS}\ndef test_it():\n    {test}\n")
    result = pytester.runpytest("-q")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E   *InvalidArgument: hasty_count: samples must be at least about * for the claim *, "
            "got 20; *",
            "*hasty_count: * TOO FEW CALLS TO REFUTE, *",
        ]
    )


@pytest.mark.parametrize("loud", [(), ("-q",), ("-qq",)])
def test_a_probe_that_could_not_have_failed_fails_and_is_shown_as_such(pytester, loud):
    pytester.makepyfile(GOOD)
    result = pytester.runpytest("--tellapart-samples=20", *loud)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*noisy_count: * TOO FEW CALLS TO REFUTE, *; 40 calls, *"])


def test_what_the_test_says_goes_before_the_command_line(pytester):
    pytester.makepyfile(BAD.replace("probe(hasty_count)", "probe(hasty_count, seed=5)"))
    result = pytester.runpytest(FEW, "--tellapart-seed=7")
    result.stdout.fnmatch_lines(["*To see it again: * --tellapart-seed=5 *"])


def test_a_random_seed_is_told(pytester):
    pytester.makepyfile(GOOD)
    seeds = set()
    for _ in range(2):
        result = pytester.runpytest(FEW, "--tellapart-seed=random")
        result.assert_outcomes(passed=1)
        seeds |= {row for row in result.outlines if row.startswith("tellapart: ")}
    assert len(seeds) == 2


def test_a_seed_that_is_none_is_refused(pytester):
    for option in ("--tellapart-seed=-1", "--tellapart-samples=many"):
        result = pytester.runpytest(option)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*must be a whole number of at least 0, got *"])


def test_workers_send_home_what_they_probed(pytester):
    pytest.importorskip("xdist")
    pytester.makepyfile(test_it=GOOD + BAD)
    result = pytester.runpytest_subprocess("-n", "2", FEW, "--tellapart-seed=random")
    result.assert_outcomes(passed=1, failed=1)
    (told,) = [row for row in result.outlines if row.startswith("tellapart: ")]
    seed = told.partition("=")[2]
    result.stdout.fnmatch_lines([f"*To see it again: *--tellapart-seed={seed} *"])
    result.stdout.fnmatch_lines_random(
        ["*noisy_count: * not refuted*", "*hasty_count: *REFUTED*", "2 probes in *"]
    )


def test_without_the_plugin_the_line_works_all_the_same(pytester):
    pytester.makepyfile(GOOD.replace("probe(noisy_count)", "probe(noisy_count, samples=4_000)"))
    result = pytester.runpytest_subprocess("-p", "no:tellapart")
    result.assert_outcomes(passed=1)
    assert "privacy" not in result.stdout.str()


def test_unittest_and_plain_python_need_no_pytest(pytester):
    body = """
import unittest

class Case(unittest.TestCase):
    def test_good(self):
        probe(noisy_count, samples=4_000)

    def test_bad(self):
        with self.assertRaisesRegex(AssertionError, "To see it again: seed=0, samples=4000"):
            probe(hasty_count, samples=4_000)

if __name__ == "__main__":
    unittest.main()
"""
    script = pytester.makepyfile(by_hand=MECHANISMS + body)
    result = pytester.runpython(script)
    assert result.ret == 0
    result.stderr.fnmatch_lines(["Ran 2 tests*", "OK"])


def test_examples_of_hypothesis_are_counted(pytester):
    pytest.importorskip("hypothesis")
    pytester.makepyfile(
        MECHANISMS
        + """
from hypothesis import given, settings, strategies

@settings(max_examples=4, deadline=None, derandomize=True, database=None)
@given(strategies.lists(strategies.integers(0, 3), max_size=4))
def test_any(data):
    assert_private(noisy_count, data, [*data, 1], epsilon=1)
"""
    )
    result = pytester.runpytest(FEW)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*32,000 calls in 4 probes*", "*4 probes in *probability at most 4e-6"]
    )


@pytest.mark.parametrize(("level", "probes"), [(0.05, 40), (0.01, 51), (0.3, 2)])
def test_a_sum_that_says_nothing_is_told_as_what_it_still_is(level, probes):
    said = pytest_tellapart._together([{"false_alarm": level, "seconds": 0.01}] * probes)
    assert "fails by chance with probability at most 1" not in said
    assert f"each fails by chance with probability at most {level:g}, " in said
    assert f"at most {level * probes:g} of them on average" in said
    assert "any of them" not in said
