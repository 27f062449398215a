"""Ledgers: what is on record is the budget's, to the last digit, for everybody who shares it."""

import json
import sys
import threading
from decimal import Decimal
from fractions import Fraction

import pytest

import tellapart as ta
from tellapart.budget import hash_chain

MEAN, COUNT = ta.Gaussian(sigma=3), ta.Laplace(scale=30)


def kept(tmp_path, kind):
    return f"sqlite:///{tmp_path}/team.db" if kind == "sqlite" else tmp_path / "team.jsonl"


@pytest.fixture(params=["file", "sqlite"])
def where(request, tmp_path):
    return kept(tmp_path, request.param)


def test_a_ledger_says_what_a_budget_says(where):
    budget = ta.Budget(gaussian=1, laplace=0.5)
    ledger = ta.BudgetLedger.open(where, budget)
    for step, label in ((MEAN, "mean"), (COUNT, None), (MEAN.then(MEAN), "two means")):
        entry, line = budget.spend(step, label), ledger.spend(step, label)
        assert (line.label, line.pot, line.cost) == (entry.label, entry.pot, entry.cost)
        assert ledger.left() == budget.left() == ta.BudgetLedger.open(where).left()
        assert ledger.cost(step) == budget.cost(step)
        assert ledger.would_allow(step) == budget.would_allow(step)
    assert ledger.guarantee() == budget.guarantee()
    assert ledger.odometer(1e-5).pots == budget.odometer(1e-5).pots
    assert ledger.budget.spent == ()
    assert [line.number for line in ledger.log()] == [2, 3, 4]
    assert [line.mechanism for line in ledger.log()][:2] == ["gaussian:sigma=3", "laplace:scale=30"]


def test_sums_are_exact_over_many_lines(where):
    """Costs of 1/9 are never rounded down, and 16 of them fit into 16/9, whoever reads them."""
    ledger = ta.BudgetLedger.open(where, ta.Budget(gaussian=4 / 3))
    budget = ta.Budget(gaussian=4 / 3)
    while budget.would_allow(MEAN):
        budget.spend(MEAN)
        ledger.spend(MEAN)
    assert len(ledger.log()) == 16
    with pytest.raises(ta.BudgetSpent, match="the pot 'gaussian' has") as refused:
        ledger.spend(MEAN, label="one too many")
    assert refused.value.left == ledger.left() == budget.left()
    assert sum(Fraction(line.cost) for line in ledger.log()) >= Fraction(16, 9)


def test_every_kind_of_budget_is_kept(where, tmp_path):
    step = ta.Gaussian(sigma=1).sampled(0.01)
    for number, budget in enumerate(
        (
            ta.RenyiBudget(order=8, limit=1),
            ta.RenyiBudget.zcdp(0.5),
            ta.RenyiBudget.pure(3, neighbours=ta.Neighbours.REPLACE),
            ta.Budget(steps={step: 10}),
        )
    ):
        place = tmp_path / f"{number}.jsonl" if number % 2 else where
        ledger = ta.BudgetLedger.open(place, budget, name=f"number {number}")
        again = ta.BudgetLedger.open(place, name=f"number {number}")
        assert again.budget.to_record() == budget.to_record()
        assert ledger.left() == budget.left()
        if not isinstance(place, str):
            place.unlink()


def test_a_database_holds_many_ledgers(tmp_path):
    url = kept(tmp_path, "sqlite")
    first = ta.BudgetLedger.open(url, ta.Budget(gaussian=1), name="first")
    second = ta.BudgetLedger.open(url, ta.Budget(gaussian=2), name="second")
    first.spend(MEAN)
    assert (len(first.log()), len(second.log())) == (1, 0)
    with pytest.raises(ta.InvalidArgument, match="ledger must be there, and third in sqlite"):
        ta.BudgetLedger.open(url, name="third")


def test_a_ledger_is_opened_once(where):
    ta.BudgetLedger.open(where, ta.Budget(gaussian=1)).spend(MEAN)
    assert len(ta.BudgetLedger.open(where, ta.Budget(gaussian=1)).log()) == 1
    with pytest.raises(ta.InvalidArgument, match=r"budget must be that of .*gaussian=1.*, got"):
        ta.BudgetLedger.open(where, ta.Budget(gaussian=1.5))
    spent = ta.Budget(gaussian=1)
    spent.spend(MEAN)
    with pytest.raises(ta.InvalidArgument, match="budget must have nothing spent"):
        ta.BudgetLedger.open(where, spent)
    with pytest.raises(ta.InvalidArgument, match=r"budget must be a ta\.Budget or"):
        ta.BudgetLedger.open(where, 1.0)


def test_threads_share_a_ledger(where):
    ledger = ta.BudgetLedger.open(where, ta.Budget(steps={MEAN: 12}))
    spent = []

    def spend():
        while True:
            try:
                spent.append(ledger.spend(MEAN).number)
            except ta.BudgetSpent:
                return

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(spent) == list(range(2, 14))
    assert ledger.check().lines == 13


def test_a_refused_step_leaves_no_line(where):
    ledger = ta.BudgetLedger.open(where, ta.Budget(gaussian=0.1))
    for step, error in (
        (MEAN, ta.BudgetSpent),
        (COUNT, ta.Unsupported),
        (ta.Gaussian(50, neighbours=ta.Neighbours.REPLACE), ta.InvalidArgument),
        ("gaussian", ta.InvalidArgument),
    ):
        with pytest.raises(error):
            ledger.spend(step)
    for label in ("two\nlines", "", "x" * 201, "\x1b[31m", 7):
        with pytest.raises(ta.InvalidArgument, match="label must be"):
            ledger.spend(ta.Gaussian(50), label=label)
    assert ledger.log() == ()
    assert not ledger.would_allow(COUNT)
    assert ledger.check().lines == 1


def test_people_can_read_the_file(tmp_path):
    path = tmp_path / "team.jsonl"
    ledger = ta.BudgetLedger.open(path, ta.Budget(gaussian=1))
    ledger.spend(ta.Gaussian(sigma=2), label="Größe, “mean”")
    first, second = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(first)["budget"]["gaussian"] == 1
    said = json.loads(second)
    assert (said["label"], said["mechanism"]) == ("Größe, “mean”", "gaussian:sigma=2")
    assert (said["pot"], Decimal(said["cost"])) == ("gaussian", Decimal("0.25"))
    assert "Größe" in second


def test_text_in_a_line_cannot_look_like_its_end():
    """Else half a line might be taken for a whole one."""
    forged = 'x", "chain": "' + "0" * 64 + '"}'
    text, line = hash_chain.sealed(2, {"label": forged}, hash_chain.START)
    assert hash_chain.opened(text, 2, hash_chain.START, "here") == line
    assert line.content == {"label": forged}
    ends = [end for end in range(len(text) + 1) if hash_chain.is_sealed(text[:end])]
    assert ends == [len(text)]


def test_what_is_said_of_a_database_hides_its_password(monkeypatch):
    from tellapart.budget import ledger_sql

    url = "postgresql://me:secret@host/db?password=secret&port=5"
    shown = ledger_sql._shown(ledger_sql.sql.make_url(url))
    assert shown == "postgresql://me:***@host/db?port=5"
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ta.Unsupported, match=r"PostgreSQL needs: pip install 'tellapart\[sql\]'"):
        ta.BudgetLedger.open(url)
    for wrong, said in (
        ("mysql://me:secret@host/db", "ledger must be in sqlite:///... or postgresql"),
        ("sqlite://", "ledger must be in a file, such as sqlite:///budgets.db"),
        ("sqlite:///:memory:", "ledger must be in a file"),
        ("://me:secret@host", "ledger must be a file, or the URL of a database"),
    ):
        with pytest.raises(ta.InvalidArgument, match=said) as refused:
            ta.BudgetLedger.open(wrong, ta.Budget(gaussian=1))
        assert "secret" not in str(refused.value)


def test_a_ledger_in_a_database_needs_an_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.delitem(sys.modules, "tellapart.budget.ledger_sql", raising=False)
    with pytest.raises(ta.Unsupported, match=r"pip install 'tellapart\[sql\]'"):
        ta.BudgetLedger.open(f"sqlite:///{tmp_path}/x.db", ta.Budget(gaussian=1))


def test_a_step_is_paid_from_the_pot_that_is_named(where):
    step = ta.Gaussian(sigma=3)
    ledger = ta.BudgetLedger.open(where, ta.Budget(gaussian=1, steps={step: 2}))
    assert ledger.spend(step).pot == "gaussian"
    assert ledger.would_allow(step, pot="gaussian:sigma=3")
    assert ledger.spend(step, pot="gaussian:sigma=3").pot == "gaussian:sigma=3"
    assert ledger.left()["gaussian:sigma=3"] == 1
    with pytest.raises(ta.InvalidArgument, match="pot must be gaussian or"):
        ledger.spend(step, pot="laplace")


@pytest.mark.parametrize(
    "changed",
    [
        {"cost": "2"},
        {"cost": "much"},
        {"cost": "NaN"},
        {"cost": "-1"},
        {"cost": None},
        {"pot": "laplace"},
        {"at": "today"},
        {"at": None},
    ],
)
def test_a_line_with_a_right_chain_and_wrong_content_is_no_line(tmp_path, changed):
    """A chain shows accidents and edits, and anybody can compute one."""
    path = tmp_path / "team.jsonl"
    ta.BudgetLedger.open(path, ta.Budget(gaussian=1)).spend(ta.Gaussian(2))
    first, second = path.read_text(encoding="utf-8").splitlines()
    content = json.loads(second)
    del content["line"], content["chain"]
    forged, _ = hash_chain.sealed(2, {**content, **changed}, json.loads(first)["chain"])
    path.write_text(f"{first}\n{forged}\n", encoding="utf-8")
    with pytest.raises(ta.BadLedger, match=r"line 2 of .* was not written by tellapart"):
        ta.BudgetLedger.open(path)


def test_lost_lines_are_not_forgotten_after_a_complaint(tmp_path):
    path = tmp_path / "team.jsonl"
    ledger = ta.BudgetLedger.open(path, ta.Budget(gaussian=1))
    ledger.spend(ta.Gaussian(sigma=2))
    before = path.read_bytes()
    for _ in range(3):
        ledger.spend(ta.Gaussian(sigma=2))
    path.write_bytes(before)
    for _ in range(3):
        with pytest.raises(ta.BadLedger, match="lost lines"):
            ledger.spend(ta.Gaussian(sigma=2))
    assert path.read_bytes() == before


@pytest.mark.parametrize("end", [b"X", b"\0", b" x"])
def test_what_stands_behind_the_last_seal_is_damage(tmp_path, end):
    path = tmp_path / "team.jsonl"
    ledger = ta.BudgetLedger.open(path, ta.Budget(gaussian=1))
    for _ in range(4):
        ledger.spend(ta.Gaussian(sigma=2))
    path.write_bytes(path.read_bytes()[:-1] + end)
    with pytest.raises(ta.BadLedger):
        ta.BudgetLedger.open(path).spend(ta.Gaussian(sigma=2))


def test_every_step_that_can_be_opened_can_be_read_again(tmp_path):
    step = ta.AboveThreshold(2, 4, 1, 3, True)
    ta.BudgetLedger.open(tmp_path / "a.jsonl", ta.Budget(steps={step: 5}))
    assert list(ta.BudgetLedger.open(tmp_path / "a.jsonl").left().values()) == [5]
