"""`tellapart decide`: the answer first, exit codes for scripts, each wrong key by its place."""

import json
import re

import pytest
from own_words import answered

from tellapart import decision

TEMPLATE = decision.template()
ANSWERED = answered()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def written(folder):
    """A decision file with some lines changed."""

    def write(*changes):
        text = ANSWERED
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (folder / "decision.toml").write_text(text, encoding="utf-8")

    return write


def test_a_file_is_begun_answered_and_checked(run, folder):
    code, out, err = run("decide --init")
    assert (code, err) == (0, "")
    assert "decision.toml: every value in it is an example" in out
    assert (folder / "decision.toml").read_text(encoding="utf-8") == TEMPLATE
    code, out, err = run("decide")
    assert (code, err) == (0, "")
    first, *rest = out.splitlines()
    assert first == "sigma = 2.6186  for gaussian:sensitivity=1; ε ≤ 2.0534 at δ = 6.94444e-9"
    assert "  Binding constraint: an insurer, PPV ≤ 0.02 at FPR 0.001." in rest
    row = next(line for line in rest if line.startswith("  an insurer: PPV at FPR 0.001"))
    assert row.split()[-6:] == ["≈", "0.0200", "≤", "0.02", "2.6186", "(binding)"]
    assert "0.0060" in row
    code, out, err = run("decide --check --today 2027-11-17")
    assert (code, err) == (3, "")
    assert out.startswith("NO VERDICT: a draft: 9 answers are missing (title, release.what, ")
    (folder / "decision.toml").write_text(ANSWERED, encoding="utf-8")
    code, out, err = run("decide --check --today 2027-11-17")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("STANDS: sigma = 4 keeps every limit")


@pytest.mark.parametrize(
    "words",
    ["TODO", "todo: say", " Todo ask Ada", "[tbd]", "FIXME", "?", "??", "…", "...", " - "],
)
def test_words_that_say_that_they_are_to_come_are_no_answer(run, written, words):
    (line,) = re.findall(r"^owner = .*", ANSWERED, re.MULTILINE)
    written((line, f'owner = "{words}"'))
    code, out, err = run("decide --check --today 2027-11-17")
    assert (code, err) == (3, "")
    assert out.startswith("NO VERDICT: a draft: 1 answer is missing (decided.owner)")


@pytest.mark.parametrize("words", ["Todorov", "T. B. Downs", "who?", "A...", "tbdata team"])
def test_names_that_look_like_such_words_are_answers(run, written, words):
    (line,) = re.findall(r"^owner = .*", ANSWERED, re.MULTILINE)
    written((line, f'owner = "{words}"'))
    assert run("decide --check --today 2027-11-17")[0] == 0


def test_a_file_that_exists_is_never_overwritten(run, folder):
    (folder / "mine.toml").write_text("mine", encoding="utf-8")
    code, out, err = run("decide --init mine.toml")
    assert (code, out) == (2, "")
    assert "mine.toml must be a new file, and it exists; name another one" in err
    assert (folder / "mine.toml").read_text(encoding="utf-8") == "mine"


def test_a_check_ends_with_one_where_a_limit_is_broken_or_the_review_is_overdue(run, written):
    written(("configured = 4", "configured = 2.5"))
    code, out, _ = run("decide --check --today 2026-12-01")
    assert code == 1
    assert (
        "DOES NOT STAND: an insurer, PPV ≤ 0.02 at FPR 0.001 is broken: 0.0211 with sigma = 2.5"
        in out
    )
    assert "The limits ask for sigma = 2.6186." in out
    written()
    code, out, _ = run("decide --check --today 2027-11-18")
    assert code == 1
    assert "DOES NOT STAND: the review of 2027-11-17 is overdue by 1 day" in out


def test_a_check_of_nothing_configured_has_no_verdict(run, written):
    written(("configured = 4", ""))
    code, out, _ = run("decide --check --today 2026-12-01")
    assert code == 3
    assert "NO VERDICT: the sigma in use now is not given (mechanism.configured)" in out


def test_limits_out_of_reach_end_with_one(run, written):
    written(("at_most = 0.02", "at_most = 0.001"))
    for option in ("", " --check"):
        code, out, err = run(f"decide{option}")
        assert (code, out) == (1, "")
        assert "decision.toml: infeasible: limit[1] (an insurer: PPV ≤ 0.001 at FPR 0.001)" in err


def test_json_has_the_answer_the_questions_and_the_check(parsed, written):
    written()
    data = parsed("decide")
    assert (data["value"], data["binding"]) == (2.6186, 1)
    assert data["limits"][0]["baseline"] == 0.006
    assert [question["key"] for question in data["questions"]] == ["mechanism.name"]
    checked = parsed("decide --check --today 2028-01-01", code=1)["check"]
    assert checked["overdue"] is True
    assert checked["kept"] is True


def test_details_are_there_for_who_asks(run, written):
    written()
    code, out, _ = run("decide -v")
    assert code == 0
    assert "Sensitivity analysis  at other values of sigma" in out
    assert re.search(r"2\.35674 +2\.2981 +0\.0227 +broken", out)
    assert "laplace: scale = 0.8209506609, ε ≤ 1.2181: keeps every limit; error" in out


def test_a_picture_is_drawn(run, written, folder, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    written()
    code, _, _ = run("decide --plot curve.svg")
    assert code == 0
    assert (folder / "curve.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "Patients by district, 2026."', "title = ", "a decision file must be TOML"),
        ("people = 12000", "peple = 12000", "release.people must be given, such as people = 12000"),
        ("people = 12000", "people = -3", "release.people must be at least 1, got -3"),
        ("[release]", "[relase]", "relase must be title or a table of a decision file (did you"),
        ('unit = "one patient"', "unit = 3", "privacy.unit must be a text in quotes, such as"),
        (
            '"add-remove"',
            '"add"',
            "privacy.neighbours must be one of add-remove, replace",
        ),
        ('"1/n^2"', '"n^2"', 'privacy.delta_rule must be written as "1/n", "1/n^2" or "0.1/n"'),
        ('name = "gaussian"', 'name = "gauss"', "mechanism.name must be one of any, laplace"),
        ("sensitivity = 1", "sensitivty = 1", "mechanism.sensitivty must be a key of [mechanism]"),
        ('choose = "sigma"', 'choose = "scale"', "mechanism.choose must be one that 'gaussian'"),
        (
            "prior = 0.006",
            "prior = 6",
            "attacker[1].prior must lie strictly between 0 and 1",
        ),
        ("prior = 0.006", "", "attacker[1].prior must be given for limit[1] on ppv"),
        (
            'attacker = "an insurer"',
            'attacker = "insurer"',
            "limit[1].attacker must be the",
        ),
        ('risk = "ppv"', 'risk = "max_ppv"', "limit[1].risk must be a risk, without its side"),
        ("at_most = 0.02", "at_most = 2", "limit[1].at_most must lie in [0, 1], got 2"),
        ("at_most = 0.02", 'at_most = "little"', "limit[1].at_most must be a number, got 'little'"),
        ("review = 2027-11-17", "review = 2027", "decided.review must be a date without quotes"),
        ("review = 2027-11-17", "", "decided.review must be given, such as review = 2027-11-17"),
    ],
)
@pytest.mark.parametrize("option", ["", " --check"])
def test_a_wrong_key_is_named_with_its_file_and_what_to_write(run, written, old, new, said, option):
    written((old, new))
    code, out, err = run(f"decide{option}")
    assert (code, out) == (2, "")
    assert err.startswith("tellapart: decision.toml: ")
    assert said in err


def test_a_missing_file_and_a_wrong_day(run, written):
    code, _, err = run("decide none.toml")
    assert code == 2
    assert "none.toml" in err
    written()
    code, _, err = run("decide --check --today soon")
    assert code == 2
    assert "--today must be a date such as 2026-11-17, got 'soon'" in err


def test_a_file_in_the_place_of_the_data_is_kept_and_the_option_named(run, written, tmp_path):
    written()
    kept = tmp_path / "mine.json"
    kept.write_text("{}")
    code, _, err = run(f"decide --report {tmp_path / 'mine.html'}")
    assert code == 2
    assert f"--report must leave {kept} as it is" in " ".join(err.split())
    assert kept.read_text() == "{}"


def test_risks_and_accuracy_that_clash_end_with_one_and_are_named(run, parsed, written):
    written(("at_most = 20", "at_most = 5"))
    code, out, err = run("decide")
    assert (code, err) == (1, "")
    first, second, third, *_ = out.splitlines()
    assert first == "INFEASIBLE: 95 % interval of a histogram ≤ 5 clashes with limit[1]"
    (limit,) = parsed("decide", code=1)["limits"]
    assert second == f"  limit[1] is {limit['attacker']}, {limit['limit']}."
    assert third == "  Raise utility.at_most, or accept more of these risks."
    assert parsed("decide", code=1)["clashes"] == [1]
    code, out, _ = run("decide --check --today 2026-12-01")
    assert code == 1
    assert out.startswith(
        "DOES NOT STAND: utility: 95 % interval of a histogram ≤ 5 is broken: 12.88 with sigma = 4"
    )


def test_what_a_statistic_needs_is_asked_by_its_key(run, written):
    written(("cells = 40", ""))
    code, out, err = run("decide")
    assert (code, out) == (2, "")
    assert "utility.cells must be given for a histogram" in err


def test_a_broken_risk_comes_before_a_broken_utility(run, written):
    written(("configured = 4", "configured = 2.5"), ("at_most = 20", "at_most = 5"))
    for option in (" --check --today 2026-12-01", ""):
        _, out, _ = run(f"decide{option}")
        lines = out.splitlines()
        first = "DOES NOT STAND: an insurer, PPV ≤ 0.02 at FPR 0.001 is broken: 0.0211"
        (place,) = (k for k, line in enumerate(lines) if line.startswith(first))
        assert lines[place + 1].startswith(
            "  Utility: 95 % interval of a histogram ≤ 5 is broken: "
        )


def test_what_is_in_use_and_breaks_a_limit_is_said_before_what_to_configure(run, written):
    written(("configured = 4", "configured = 2.5"))
    code, out, _ = run("decide")
    assert code == 0
    first, blank, second, *_ = out.splitlines()
    assert first.startswith("DOES NOT STAND: an insurer, PPV ≤ 0.02 at FPR 0.001 is broken: 0.0211")
    assert (blank, second[:14]) == ("", "sigma = 2.6186")


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ([("records_per_unit = 1", "")], "privacy.records_per_unit"),
        ([('unit = "one patient"', 'unit = "one patient, all visits"')], "privacy.unit"),
        ([('delta_rule = "1/n^2"', "delta = 0.01")], "privacy.delta"),
        ([('"add-remove"', '"replace"'), ("\nsensitivity = 1", "")], "mechanism.sensitivity"),
        ([("prior = 0.006", "prior = 0.006\npeople = 3000")], "attacker[1].people"),
        ([("prior = 0.006", "prior = 0.001")], "attacker[1].prior"),
        ([("review = 2027-11-17", "review = 2026-11-17")], "decided.review"),
        ([("cells = 40", "candidates = 9"), ('"histogram"', '"quantile"')], "utility.statistic"),
    ],
)
def test_an_open_question_that_may_change_the_answer_is_no_green_light(
    run, parsed, written, changes, key
):
    written(*changes, ("configured = 4", "configured = 9"), ("at_most = 20", "at_most = 90"))
    code, out, _ = run("decide --check --today 2026-11-17")
    assert code == 3
    assert out.startswith(f"NO VERDICT: an open question, {key}: ")
    assert f"  - {key}: " in out
    data = parsed("decide --check --today 2026-11-17", code=3)
    assert [each["key"] for each in data["questions"] if each["blocks"]] == [key]
    assert data["check"]["stands"] is None


AUDIT = {"headline": "REFUTED: the claim", "reasons": [], "design": "calls", "made": {}}


@pytest.fixture
def audited(folder, written):
    """A decision file with an audit beside it that came to this."""

    def write(refuted, **more):
        named = ("#[[evidence]]", "[[evidence]]"), ('#file = "audit', 'file = "audit')
        written(*named)
        held = {**AUDIT, "refuted": refuted, **more}
        (folder / "audit.json").write_text(json.dumps(held), encoding="utf-8")

    return write


def test_evidence_that_refutes_is_said_and_ends_with_one(run, parsed, audited):
    audited(True)
    for option in (" --check --today 2026-12-01", ""):
        code, out, _ = run(f"decide{option}")
        assert code == 1
        said = "DOES NOT STAND: evidence speaks against the code: REFUTED: the claim (audit.json)"
        assert out.splitlines()[0] == said
    assert parsed("decide", code=1)["evidence"][0]["refuted"] is True
    audited(False, headline="NOT REFUTED")
    code, out, _ = run("decide --check --today 2026-12-01")
    assert code == 0
    assert "  Evidence: NOT REFUTED (audit.json)." in out.splitlines()


@pytest.mark.parametrize("option", ["", " --check"])
def test_evidence_that_cannot_be_read_is_no_use(run, audited, folder, option):
    audited(True)
    (folder / "audit.json").write_text("{", encoding="utf-8")
    code, out, err = run(f"decide{option}")
    assert (code, out) == (2, "")
    assert "decision.toml: evidence[1].file must be the JSON that tellapart audit" in err
    (folder / "audit.json").unlink()
    code, out, err = run(f"decide{option}")
    assert (code, out) == (2, "")
    assert "evidence[1].file must be a file that exists" in err


def test_a_title_of_several_lines_is_one_line_here(run, written):
    written(('title = "Patients by district, 2026."', 'title = "Patients\\n\\n  by district"'))
    _, out, _ = run("decide --check --today 2026-12-01")
    assert "Patients by district. The limits ask for" in out
