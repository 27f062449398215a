"""A score file in a browser: good and bad, its verdict and report, and nobody else's business."""

from __future__ import annotations

import gzip
import io

import pytest
from axe_playwright_python.sync_playwright import Axe
from copied_code import printed

from tellapart.web import limits

ROWS = b"".join(b"%d,%d\n" % (k % 7 + 3 * (k % 2), k % 2) for k in range(400))
GOOD = b"score,member\n" + ROWS
QUIET = b"score,member\n" + b"".join(b"%d,%d\n" % (k % 9, k % 2) for k in range(360))
AUDIT = "/audit?design=many-runs&orientation=higher"


def given(name, content):
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def drop(screen, name, content):
    screen.page.set_input_files("input[type=file]", given(name, content))
    screen.page.wait_for_selector(f'.said:has-text("{name}, ")', state="attached")  # and asked
    return screen.settle()


def reasons(screen):
    return screen.page.locator("#answer .sentences p").all_inner_texts()


def test_a_file_is_judged_once_its_design_is_said_and_its_code_says_the_same(
    visit, tmp_path, monkeypatch
):
    screen = visit().open("/audit")
    assert screen.headline == "No scores yet"
    drop(screen, "mine.csv", GOOD)
    both = "experimental design and the score direction"
    assert screen.headline == f"NO VERDICT: choose the {both}"
    assert screen.page.locator('#controls [data-field="design"] input:checked').count() == 0
    assert (screen.url, screen.page.locator("#answer .codes").count()) == ("/audit", 0)
    assert "First rows of mine.csv" in screen.said
    assert "REFUTED" not in screen.said
    assert Axe().run(screen.page).response["violations"] == []
    screen.page.get_by_label("many runs, one score each").check()
    screen.settle()
    assert screen.headline == "NO VERDICT: choose the score direction"
    screen.page.get_by_label("higher means member").check()
    screen.settle()
    assert screen.page.get_by_label("lower means member, as for a loss").is_disabled()
    assert screen.number("confidence").is_disabled()
    assert screen.page.locator('[data-field="score"] select').is_disabled()
    assert "design=many-runs" in screen.url
    assert screen.headline == "✗ REFUTED: the claim ε = 1, δ = 1e-5, at 95 % confidence"
    (tmp_path / "mine.csv").write_bytes(GOOD)
    monkeypatch.chdir(tmp_path)
    head, *lines = printed(screen.code("python")).splitlines()
    assert f"✗ {head}" == screen.headline
    assert lines[: len(reasons(screen))] == reasons(screen)
    assert screen.code("command").startswith("tellapart audit mine.csv --design many-runs ")


def test_a_file_can_be_dropped_and_a_claim_changed_by_keys_alone(visit):
    screen = visit().open(AUDIT)
    screen.page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "dropped.csv"));
          const home = document.querySelector(".control.file");
          home.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
        }""",
        GOOD.decode(),
    )
    screen.page.wait_for_selector('.said:has-text("dropped.csv, ")')
    assert "REFUTED: the claim ε = 1" in screen.settle().headline
    screen.tab_to('[data-field="mechanism.0.epsilon"] input[data-exact]')
    screen.page.keyboard.press("Control+A")
    screen.page.keyboard.type("4")
    screen.settle()
    assert screen.headline.startswith("NOT REFUTED: the claim ε = 4")
    assert "any%3Aepsilon%3D4" in screen.url


def bomb():
    """Few rows, but long ones: so many that they are more than what is opened."""
    rows = (b"1,1," + b"x" * 995 + b"\n") * 1_000
    packed = io.BytesIO()
    with gzip.open(packed, "wb", 1) as file:
        file.write(b"score,member,x\n")
        for _ in range(limits.LARGEST_OPENED // 10**6 + 1):
            file.write(rows)
    return packed.getvalue()


BAD = {
    "columns.csv": (b"a,b\n1.5,2.5\n0.5,3.5\n", "columns.csv must have a column"),
    "binary.csv": (bytes(range(256)) * 20, "binary.csv must be text, got a NUL character"),
    "binary.parquet": (bytes(range(256)) * 20, "binary.parquet must be readable"),
    "binary.npz": (bytes(range(256)) * 20, "binary.npz must be an .npz file of plain arrays"),
    "empty.csv": (b"", "empty.csv must not be empty"),
    "bomb.csv.gz": (bomb, "must unpack to at most"),
    "script.csv": (
        b"score,member\n<script>document.title=1</script>,1\n",
        "score must be a number, got '<script>document.title=1</script>' in line 2",
    ),
    "<img src=x onerror=document.title=1>.csv": (b"a\n1\n", "<img src=x onerror=document.title=1>"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_told_of_and_the_next_one_is_read(visit, name):
    content, said = BAD[name]
    content = content() if callable(content) else content
    screen = visit().open(AUDIT)
    title = screen.page.title()
    drop(screen, name, content)
    assert said in screen.trouble + screen.page.inner_text("#answer")
    assert screen.page.title() == title
    assert screen.page.locator("#answer img, #controls img, #answer script").count() == 0
    assert "REFUTED" in drop(screen, "good.csv", GOOD).headline


@pytest.mark.slow
def test_a_huge_file_never_leaves_the_browser(visit):
    screen = visit().open(AUDIT)
    drop(screen, "good.csv", GOOD)
    before = screen.headline
    asked = []
    screen.page.on("request", lambda one: asked.append(one.url))
    huge = given("huge.csv", bytes(limits.LARGEST_FILE + 1))
    screen.page.set_input_files("input[type=file]", huge)
    screen.page.wait_for_selector('.said:has-text("more than the")')
    assert (asked, screen.headline) == ([], before)


@pytest.mark.parametrize(
    ("fault", "said"),
    [(413, "too large"), (500, "could not answer"), (503, "(503)"), (None, "does not answer")],
)
def test_a_server_that_refuses_or_is_gone_is_told_of_and_survived(visit, fault, said):
    screen = visit().open(f"{AUDIT}&example=yes")
    before = screen.headline

    def fail(route):
        route.abort() if fault is None else route.fulfill(status=fault, body="")

    screen.page.route("**/api/audit", fail)
    screen.number("mechanism.0.epsilon").fill("2")
    screen.page.wait_for_selector("#trouble:not(:empty)")
    assert said in screen.trouble
    assert screen.headline == before
    screen.page.unroute("**/api/audit")
    screen.number("mechanism.0.epsilon").fill("4")
    screen.settle()
    assert (screen.trouble, "NOT REFUTED: the claim ε = 4" in screen.headline) == ("", True)
    assert screen.errors  # the browser itself logs what failed, and that alone
    screen.errors.clear()


def test_two_visitors_see_their_own_files_alone(visit):
    one, two, late = visit().open(AUDIT), visit().open(AUDIT), visit()
    drop(one, "loud.csv", GOOD)
    drop(two, "quiet.csv", QUIET)
    one.number("mechanism.0.epsilon").fill("0.9")
    assert "✗ REFUTED" in one.settle().headline
    two.number("mechanism.0.epsilon").fill("0.9")
    assert two.settle().headline.startswith("NOT REFUTED")
    assert ("loud.csv" in two.said, "quiet.csv" in one.said) == (False, False)
    assert late.open(one.url).headline == "No scores yet"


def test_a_file_goes_along_with_no_other_view_and_is_still_there_afterwards(visit):
    screen = visit().open(AUDIT)
    drop(screen, "good.csv", GOOD)
    verdict = screen.headline
    sent = []
    screen.page.on("request", lambda one: sent.append(one.post_data or ""))
    screen.page.click('nav a[data-view="explore"]')
    screen.settle()
    screen.number("fpr").fill("0.02")
    screen.settle()
    assert [one for one in sent if "fpr" in one]
    assert not [one for one in sent if "file:" in one]
    assert not [one for one in sent if "good.csv" in one]
    screen.page.go_back()
    assert screen.settle().headline == verdict
    assert "good.csv" in screen.page.inner_text(".said")


def test_a_file_takes_the_place_of_the_example(visit):
    screen = visit().open(f"{AUDIT}&example=yes")
    tick = screen.page.locator('[data-field="example"] input')
    assert tick.is_checked()
    drop(screen, "quiet.csv", QUIET)
    assert not tick.is_checked()
    assert screen.headline.startswith("NOT REFUTED")
    tick.check()
    assert "✗ REFUTED" in screen.settle().headline


def test_another_file_is_audited_by_its_own_columns(visit):
    screen = visit().open(AUDIT)
    drop(screen, "first.csv", GOOD)
    assert "REFUTED" in screen.headline
    drop(screen, "second.csv", GOOD.replace(b"score,member", b"loss,is_member"))
    assert (screen.trouble, "second.csv" in screen.said) == ("", True)
    drop(screen, "third.csv", b"a,b,c\n" + ROWS.replace(b"\n", b",1.5\n"))
    assert "third.csv must say which column" in screen.page.inner_text("#answer")
    assert "First rows of third.csv" in screen.page.inner_text("#answer")
    for field, column in (("score", "a"), ("member", "b")):
        screen.page.locator(f'[data-field="{field}"] select').select_option(column)
        screen.settle()
    assert (screen.trouble, "third.csv" in screen.said) == ("", True)


def test_a_file_that_is_removed_or_lost_is_no_more_and_the_example_still_is(visit):
    screen = visit().open(AUDIT)
    remove = screen.page.get_by_role("button", name="Remove file")
    assert not remove.is_visible()
    drop(screen, "mine.csv", GOOD)
    with screen.page.expect_response(lambda one: one.request.method == "DELETE") as gone:
        remove.click()
    assert gone.value.status == 204
    screen.page.wait_for_selector('#answer h1:has-text("No scores yet")')
    assert not remove.is_visible()
    drop(screen.settle(), "mine.csv", GOOD)
    screen.page.evaluate("fetch('api/file', { method: 'DELETE' })")  # as if the visit were over
    screen.number("mechanism.0.epsilon").fill("2")
    screen.page.wait_for_selector("#trouble:not(:empty)")
    assert "the file is gone" in screen.settle().trouble
    assert screen.page.evaluate("sessionStorage.getItem('tellapart-file-audit')") is None
    screen.page.locator('[data-field="example"] input').check()
    assert "REFUTED" in screen.settle().headline
    assert screen.trouble == ""
    screen.errors.clear()  # browsers tell of every refusal


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status": 503, "json": {"problem": "others are before you"}}, "others are before you"),
        ({"status": 500, "body": ""}, "the server could not answer (500)."),
    ],
    ids=["refused", "a bug"],
)
def test_a_report_that_cannot_be_had_says_so_beside_its_button(visit, answer, said):
    screen = visit().open(f"{AUDIT}&example=yes")
    screen.page.route("**/api/audit/report*", lambda route: route.fulfill(**answer))
    screen.page.click("a[data-kind=report]")
    screen.page.wait_for_selector("#no-file:not(:empty)")
    assert screen.page.inner_text("#no-file") == f"This cannot be had: {said}"
    assert screen.trouble == ""
    screen.errors.clear()  # browsers tell of every refusal


def test_the_report_can_be_had(visit, tmp_path):
    screen = visit().open(AUDIT)
    drop(screen, "good.csv", GOOD)
    with screen.page.expect_download() as found:
        screen.page.click("a[data-kind=report]")
    found.value.save_as(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert screen.headline.removeprefix("✗ ") in page
    assert "good.csv" in page


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (390, False)])
def test_a_verdict_is_for_everyone(visit, dark, width):
    screen = visit(width=width, dark=dark).open(AUDIT)
    drop(screen, "good.csv", GOOD)
    assert Axe().run(screen.page).response["violations"] == []
    assert screen.overflow == 0
