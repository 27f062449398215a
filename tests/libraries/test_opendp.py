"""OpenDP: what its measurements promise is not refuted, what they do not promise is.

Nothing here has a seed: OpenDP draws from the system. All tests of releases that keep their
promise fail together with probability below 1e-6: fewer than 20 probes, each refuting a true claim
with probability 1e-8 at most and misjudging independence with 1e-8 at most. Those of releases that
break it have calls enough: over 15 probes of each or more, what they show of ε exceeds the claim
by more than 7 standard deviations, and no single probe came near it.
"""

import pytest

pytest.importorskip("opendp")

from opendp_releases import correct, hard, misused, wrong

CORRECT = {one.name: one for one in correct()}
HARD = {one.name: one for one in hard()}
MISUSED = {one.name: one for one in misused()}
WRONG = {one.name: one for one in wrong()}
SURE = 1 - 1e-8


@pytest.mark.parametrize("release", CORRECT.values(), ids=CORRECT)
def test_what_is_promised_is_not_refuted(release):
    assert not release.probed(1_500, SURE).refuted


@pytest.mark.parametrize("release", MISUSED.values(), ids=MISUSED)
def test_what_is_not_promised_is_refuted(release):
    assert release.probed(6_000, 0.99).refuted


@pytest.mark.parametrize("release", WRONG.values(), ids=WRONG)
def test_a_promise_that_is_wrong_is_refuted(release):
    """Version 0.16.0, see docs/findings.md; a later one may have mended it."""
    assert release.probed(4_000, 0.99).refuted


@pytest.mark.slow
@pytest.mark.parametrize("release", HARD.values(), ids=HARD)
def test_what_takes_many_calls_to_see_is_refuted(release):
    assert release.probed(20_000, 0.99).refuted


@pytest.mark.slow
@pytest.mark.parametrize("release", CORRECT.values(), ids=CORRECT)
def test_what_is_promised_is_not_refuted_by_many_calls(release):
    assert not release.probed(100_000, SURE).refuted
