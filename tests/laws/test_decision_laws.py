"""Laws of decisions: what is written is read back, and the answer keeps the limits of all."""

import contextlib
import datetime
import itertools
import math
import tomllib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from own_words import answered

from tellapart import choose, decision
from tellapart.decision.fields import NEIGHBOURS
from tellapart.decision.record import (
    Alternative,
    Attacker,
    Configuration,
    Decided,
    Decision,
    EvidenceFile,
    PlannedRelease,
    Privacy,
    RiskLimit,
    Utility,
    from_data,
)
from tellapart.decision.toml_text import written
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.subject import curve_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
INSIDE = st.floats(1e-300, 1, exclude_max=True)
SIZES = st.floats(1e-300, 1e300)
COUNTS = st.integers(1, 10**15)
DAYS = st.dates(datetime.date(1, 1, 1))
MECHANISMS = st.one_of(
    st.builds(
        Configuration,
        name=st.just("gaussian"),
        choose=st.just("sigma"),
        configured=st.none() | SIZES,
        fixed=st.fixed_dictionaries({}, optional={"sensitivity": SIZES, "repeated": COUNTS}),
    ),
    st.builds(
        Configuration,
        name=st.just("dpsgd"),
        choose=st.just("noise_multiplier"),
        fixed=st.fixed_dictionaries(
            {"sampling_rate": INSIDE, "steps": COUNTS},
            optional={"scheme": st.sampled_from(["poisson", "random-allocation"])},
        ),
    ),
)


@st.composite
def decisions(draw):
    names = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    about = st.fixed_dictionaries({"prior": INSIDE, "fpr": INSIDE})
    attackers = tuple(Attacker(name, draw(TEXTS), draw(about)) for name in names)
    limits = draw(
        st.lists(
            st.builds(
                RiskLimit,
                attacker=st.sampled_from(names),
                risk=st.sampled_from(["ppv", "tpr", "advantage", "epsilon"]),
                at_most=INSIDE,
                reason=TEXTS,
            ),
            min_size=1,
            max_size=4,
        )
    )
    people, mechanism = draw(COUNTS), draw(MECHANISMS)
    relations = ["add-remove"] if mechanism.name == "dpsgd" else [*NEIGHBOURS]
    return Decision(
        title=draw(TEXTS),
        release=PlannedRelease(draw(TEXTS), draw(TEXTS), people, draw(st.none() | st.just(10**15))),
        privacy=draw(
            st.builds(
                Privacy,
                unit=TEXTS,
                neighbours=st.sampled_from(relations),
                records_per_unit=st.none() | st.integers(1, 1000),
                delta=INSIDE,
            )
        ),
        mechanism=mechanism,
        attackers=attackers,
        limits=tuple(limits),
        decided=Decided(draw(TEXTS), draw(DAYS), draw(DAYS)),
        utility=draw(st.none() | st.builds(Utility, TEXTS, st.just("histogram"), SIZES)),
        alternatives=tuple(draw(st.lists(st.builds(Alternative, st.just("laplace"), TEXTS)))),
        evidence=tuple(draw(st.lists(st.builds(EvidenceFile, TEXTS, st.none() | TEXTS)))),
    )


@given(decisions())
def test_what_is_written_is_read_back(record):
    text = decision.dumps(record)
    assert decision.parse(text) == record
    assert decision.dumps(decision.parse(text)) == text


@given(
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.floats(allow_nan=False, allow_infinity=False)
    | DAYS
)
def test_toml_holds_every_value(value):
    assert tomllib.loads(f"x = {written(value)}")["x"] == value


# -- the answer -----------------------------------------------------------------------------

FIRST = decision.parse(answered())
ANSWERED = FIRST.answer()
TODAY = FIRST.decided.date
FORMULAS = [
    Configuration("gaussian", "sigma", fixed={"sensitivity": 2.0}),
    Configuration("gaussian", "epsilon"),
    Configuration("laplace", "scale"),
    Configuration("laplace", "epsilon", fixed={"sensitivity": 3.0}),
    Configuration("discrete-laplace", "scale"),
    Configuration("any", "epsilon"),
    Configuration("any", "mu"),
]
COMPOSED = [
    Configuration("dpsgd", "noise_multiplier", fixed={"sampling_rate": 0.01, "steps": 500}),
    Configuration("dpsgd", "steps", fixed={"sampling_rate": 0.01, "noise_multiplier": 1.5}),
    Configuration("laplace", "scale", fixed={"repeated": 10}),
]
# The most demanding of them differ from mechanism to mechanism.
ATTACKERS = (
    Attacker("a stranger", "a list of residents", {"prior": 0.001, "fpr": 0.001}),
    Attacker("a colleague", "suspects", {"prior": 0.1, "fpr": 0.01, "baseline": 0.05}),
)
LIMITS = [
    RiskLimit("a stranger", "ppv", at_most=0.01, reason="r"),
    RiskLimit("a colleague", "ppv", at_most=0.3, reason="r"),
    RiskLimit("a colleague", "reconstruction", at_most=0.2, reason="r"),
    RiskLimit("a stranger", "tpr", at_most=0.02, reason="r"),
    RiskLimit("a colleague", "advantage", at_most=0.25, reason="r"),
    RiskLimit("a colleague", "bayes_error", at_least=0.09, reason="r"),
    RiskLimit("a stranger", "epsilon", at_most=3.0, reason="r"),
]
SUBSETS = st.lists(st.sampled_from(LIMITS), min_size=1, max_size=3, unique_by=id)


def asked(mechanism, limits, records=1):
    return replace(
        FIRST,
        mechanism=mechanism,
        privacy=replace(FIRST.privacy, records_per_unit=records),
        attackers=ATTACKERS,
        limits=tuple(limits),
        utility=None,
        alternatives=(),
    )


def at_least_as_private(family, value, other, digits=0.0):
    if family.grows_private:
        return value >= other * (1 - digits)
    return value <= other * (1 + digits)


@given(st.sampled_from(FORMULAS), SUBSETS)
def test_the_answer_keeps_every_limit_and_the_next_less_private_one_does_not(mechanism, limits):
    answer = asked(mechanism, limits).answer()
    curve = curve_of(answer.family.make(answer.value))
    for each in answer.limits:
        assert each.asked.excess(curve) <= 0
        assert each.reading.value == each.asked.value(curve)
    assert answer.binding is not None
    off = 0.999 if answer.family.grows_private else 1.001
    less = curve_of(answer.family.make(answer.choice.parameter * off))
    assert answer.binding.asked.excess(less) > 0


@pytest.mark.parametrize(
    ("mechanism", "limit"),
    [
        *itertools.product(FORMULAS, LIMITS[:2] + LIMITS[4:5]),
        *zip(COMPOSED, LIMITS[:2] + LIMITS[4:5], strict=True),
    ],
    ids=str,
)
def test_one_attacker_with_one_limit_is_what_choose_answers(mechanism, limit):
    record = asked(mechanism, [limit])
    family = record.family()
    about = {**record.attacker(limit.attacker).about, "delta": record.delta}
    own = {argument.key: about[argument.key] for argument in limit.measure.arguments}
    bound = choose.at_most(limit.at_most, limit.measure.function, **own)
    search = choose.least if family.grows_private else choose.largest
    choice = search(family.make, [bound], whole=family.whole, certified=True)
    answer = record.answer()
    assert answer.value == choice.short
    assert answer.choice.certified
    assert answer.limits[0].alone == answer.value


@given(st.sampled_from(FORMULAS), SUBSETS, st.sampled_from(LIMITS))
def test_a_further_limit_never_gives_less_noise(mechanism, limits, further):
    fewer = asked(mechanism, limits).answer()
    more = asked(mechanism, [*limits, replace(further)]).answer()
    assert at_least_as_private(fewer.family, more.value, fewer.value)


@given(st.sampled_from(FORMULAS), SUBSETS)
def test_several_attackers_ask_as_much_as_the_most_demanding_alone(mechanism, limits):
    together = asked(mechanism, limits).answer()
    alone = [asked(mechanism, [limit]).answer().value for limit in limits]
    most = max(alone) if together.family.grows_private else min(alone)
    assert together.value == most
    assert [limit.alone for limit in together.limits] == alone
    assert together.binding.alone == most


@pytest.mark.parametrize("mechanism", COMPOSED, ids=str)
def test_the_most_demanding_of_a_training_is_the_answer(mechanism):
    together = asked(mechanism, LIMITS[:2] + LIMITS[4:5]).answer()
    alone = [limit.alone for limit in together.limits]
    most = max(alone) if together.family.grows_private else min(alone)
    assert together.value == pytest.approx(most, rel=1e-3)
    assert at_least_as_private(together.family, together.value, most)
    assert together.binding.alone == together.value


@pytest.mark.parametrize("mechanism", [*FORMULAS, *COMPOSED], ids=str)
def test_its_own_value_keeps_the_limits_and_one_percent_less_noise_does_not(mechanism):
    record = asked(mechanism, LIMITS[:2])
    answer = record.answer()

    def judged(value):
        configured = replace(record, mechanism=replace(mechanism, configured=value))
        return replace(answer, decision=configured).check(TODAY)

    assert judged(answer.value).kept is True
    less = answer.value * (0.99 if answer.family.grows_private else 1 / 0.99)
    less = float(math.ceil(less)) if answer.family.whole else less
    broken = judged(less)
    assert broken.stands is False
    assert str(answer.binding) in broken.reasons[0]
    assert judged(answer.value * (1.5 if answer.family.grows_private else 0.5)).kept is True


@pytest.mark.parametrize(
    "mechanism",
    [*FORMULAS, *COMPOSED, Configuration("laplace", "scale", fixed={"sampled": 0.1})],
    ids=str,
)
def test_more_records_of_a_unit_never_ask_less_noise(mechanism):
    limits = LIMITS[1:2]
    values = [asked(mechanism, limits, records).answer().value for records in (1, 3)]
    family = asked(mechanism, limits).family()
    assert all(at_least_as_private(family, b, a) for a, b in itertools.pairwise(values))
    assert values[0] != values[1]


def test_plain_noise_for_a_group_grows_with_its_size():
    for mechanism in (FORMULAS[0], FORMULAS[2]):
        first, third = (asked(mechanism, LIMITS[:2], k).answer().value for k in (1, 3))
        assert third == pytest.approx(3 * first, rel=1e-3)


@given(st.sampled_from(["add-remove", "zero-out"]), st.integers(1, 4))
def test_a_relation_of_the_same_sensitivity_changes_no_membership_risk(neighbours, records):
    record = asked(FORMULAS[0], LIMITS[:2], records)
    other = replace(record, privacy=replace(record.privacy, neighbours=neighbours))
    assert other.answer().value == record.answer().value


@given(st.dates(datetime.date(2020, 1, 1), datetime.date(2030, 1, 1)))
def test_a_review_is_overdue_from_the_day_after_it(today):
    check = ANSWERED.check(today)
    assert check.overdue == (today > FIRST.decided.review)
    assert check.stands == (not check.overdue)


# -- whatever a file says -------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["gaussian", "sigma", "replace", "1/n", "ppv", "laplace:epsilon=1", "dpsgd"])
    | st.dates()
    | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
)


def places(value, path=()):
    """Every place in the tables of a file."""
    yield path
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))


@given(st.data())
@settings(max_examples=400)
def test_a_file_that_says_anything_is_read_or_refused(data):
    tables = tomllib.loads(decision.template())
    for _ in range(data.draw(st.integers(1, 3))):
        *way, key = data.draw(st.sampled_from([path for path in places(tables) if path]))
        place = tables
        for step in way:
            place = place[step]
        if isinstance(place, dict) and data.draw(st.booleans()):
            key = data.draw(st.text(max_size=5) | st.sampled_from(["sigma", "epsilon", "people"]))
        place[key] = data.draw(ANYTHING)
        if place[key] is None:
            del place[key]
    record = None
    with contextlib.suppress(InvalidArgument):  # nothing else, whatever the file says
        record = from_data(tables)
    if record is not None:
        assert decision.parse(decision.dumps(record)) == record
