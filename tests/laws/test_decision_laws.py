"""Laws of decisions: what is written is read back."""

import datetime
import tomllib

from hypothesis import given
from hypothesis import strategies as st

from tellapart import decision
from tellapart.decision.record import (
    Alternative,
    Attacker,
    Configuration,
    Decided,
    Decision,
    EvidenceFile,
    Privacy,
    Release,
    RiskLimit,
    Utility,
)
from tellapart.decision.toml_text import written

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
    people = draw(COUNTS)
    return Decision(
        title=draw(TEXTS),
        release=Release(draw(TEXTS), draw(TEXTS), people, draw(st.none() | st.just(10**15))),
        privacy=draw(
            st.builds(
                Privacy,
                unit=TEXTS,
                neighbours=st.sampled_from(["add-remove", "replace", "zero-out"]),
                records_per_unit=st.none() | st.integers(1, 1000),
                delta=INSIDE,
            )
        ),
        mechanism=draw(MECHANISMS),
        attackers=attackers,
        limits=tuple(limits),
        decided=Decided(draw(TEXTS), draw(DAYS), draw(DAYS)),
        utility=draw(st.none() | st.builds(Utility, TEXTS, st.just("margin"), SIZES)),
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
