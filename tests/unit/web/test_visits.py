"""Visits: files in memory for one visitor, few of them, and gone after a while."""

import pytest

from tellapart.web import limits, visits
from tellapart.web.messages import Upload


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def held(clock):
    return visits.Visits(clock)


def test_a_file_is_what_was_sent(held):
    file = Upload("x.csv", b"abc")
    name = held.keep("a", file)
    assert held.opened("a", {"file": name, "prior": 0.5}) == {"file": file, "prior": 0.5}
    with pytest.raises(visits.Gone):
        held.opened("b", {"file": name})
    assert held.held == 3


def test_of_too_many_the_first_is_forgotten(held):
    names = [held.keep("a", Upload("x", bytes(k))) for k in range(1, limits.MOST_FILES + 3)]
    with pytest.raises(visits.Gone):
        held.opened("a", {"file": names[0]})
    assert len(held.opened("a", {"file": names[-1]})["file"].content) == limits.MOST_FILES + 2
    assert held.held == limits.MOST_FILES + 1 + limits.MOST_FILES + 2


def test_a_visit_is_over_once_nobody_asks(held, clock):
    name, other = held.keep("a", Upload("x", b"abc")), held.keep("b", Upload("y", b"de"))
    clock.now = limits.LONGEST_VISIT * 0.9
    held.opened("a", {"file": name})
    clock.now = limits.LONGEST_VISIT * 1.1
    assert held.opened("a", {"file": name})
    with pytest.raises(visits.Gone):
        held.opened("b", {"file": other})
    assert held.held == 3
    held.leave("a")
    assert held.held == 0


def test_all_together_hold_no_more_than_fits(held, monkeypatch):
    monkeypatch.setattr(limits, "ALL_FILES", 10)
    held.keep("a", Upload("x", bytes(6)))
    with pytest.raises(visits.NoRoom):
        held.keep("b", Upload("x", bytes(5)))
    held.keep("b", Upload("x", bytes(4)))
    assert held.held == 10


@pytest.mark.parametrize(
    "cookies",
    ["", "x", "tellapart_visit=", "tellapart_visit=short", "other=" + "x" * 32, "\x80=\xff; ;;=;"],
)
def test_what_is_no_visit_is_none(cookies):
    assert visits.visit_of(cookies) is None


def test_a_visit_is_known_by_its_cookie():
    visit = visits.new_visit()
    header = visits.cookie(visit, secure=False).partition(";")[0]
    assert visits.visit_of(f"a=b; {header}") == visit
    assert visits.new_visit() != visit
