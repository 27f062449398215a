"""Files that mean harm, or were damaged: one line, quickly, in little memory, at every door."""

import gc
import gzip
import io
import json
import os
import struct
import tracemalloc
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tellapart import cli, deadline, report
from tellapart.audit import Orientation, Scores, many_runs
from tellapart.data import encodings, sources, state_columns
from tellapart.data.columns import Names
from tellapart.data.csv_file import TextTable
from tellapart.data.reading import Reader
from tellapart.data.sources import FileLimits, Source
from tellapart.errors import BadScores, InvalidArgument, LimitReached, Unsupported, visible
from tellapart.web.view import Dropped
from tellapart.web.views.score_file import read_dropped
from tellapart.worlds import described

DRAW = np.random.default_rng(3)
GOOD = b"score,member\n" + b"".join(
    f"{value:.3f},{k % 2}\n".encode() for k, value in enumerate(DRAW.normal(size=60))
)


def npy(values):
    held = io.BytesIO()
    np.save(held, values)
    return held.getvalue()


def archive(members, packing=zipfile.ZIP_STORED):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", packing) as packed, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in members:
            packed.writestr(name, content)
    return held.getvalue()


def parquet(names, columns):
    held = io.BytesIO()
    pq.write_table(pa.table([pa.array(one) for one in columns], names=names), held)
    return held.getvalue()


ARRAYS = [("score.npy", npy([1.0, 2.0])), ("member.npy", npy([1, 0]))]


def said_everywhere(name, content, folder, **asked):
    """What Python, the command line and the page say of a file: the same, in one line."""
    path = folder / name
    path.write_bytes(content)
    with pytest.raises(BadScores) as of_python:
        Scores.read(path, **asked)
    with pytest.raises(BadScores) as of_page:
        read_dropped(Dropped(name, content), Names(**asked), Orientation.HIGHER)
    assert of_page.value.problem == of_python.value.problem.replace(str(path), name)
    assert "\n" not in str(of_python.value)
    return str(of_python.value).replace(str(path), name)


# -- columns that are there twice ------------------------------------------------------------------

TWICE = {
    "f.csv": b"score,member,score\n1,1,2\n0,0,3\n",
    "spaces.csv": b'score,member,"score "\n1,1,2\n0,0,3\n',
    "f.npz": archive([*ARRAYS, ("score.npy", npy([9.0, 8.0]))]),
    "bare.npz": archive([*ARRAYS, ("score", npy([9.0, 8.0]))]),
    "f.parquet": parquet(["score", "member", "score"], [[1.0, 2.0], [True, False], [9.0, 8.0]]),
}


@pytest.mark.parametrize("name", TWICE)
def test_a_column_that_is_there_twice_is_refused(name, tmp_path):
    what = "array" if name.endswith("npz") else "column"
    assert said_everywhere(name, TWICE[name], tmp_path) == (
        f"{name} must have one {what} 'score', has 2"
    )


def test_columns_that_differ_by_case_are_two(tmp_path):
    path = tmp_path / "f.parquet"
    path.write_bytes(parquet(["Score", "member", "score"], [[9.0, 8.0], [True, False], [1.0, 2.0]]))
    assert Scores.read(path).members.descending(1) == 1
    assert Scores.read(path, score="Score").members.descending(1) == 9
    path = tmp_path / "f.csv"
    path.write_text("Score,member,score\n9,1,1\n8,0,2\n")
    assert Scores.read(path).members.descending(1) == 1


@pytest.mark.parametrize(("asked", "beside"), [("s[1].parquet", "s1.parquet"), ("q*", "qq")])
def test_a_file_whose_name_looks_like_a_pattern_is_itself(asked, beside, tmp_path):
    for name, value in ((asked, 1.0), (beside, 100.0)):
        path = tmp_path / name.removesuffix(".parquet")
        path = path.with_name(f"{path.name}.parquet")
        path.write_bytes(parquet(["score", "member"], [[value, 0.0], [True, False]]))
    path = tmp_path / f"{asked.removesuffix('.parquet')}.parquet"
    assert Scores.read(path).members.descending(1) == 1


# -- archives --------------------------------------------------------------------------------------


def test_what_is_not_asked_for_stays_packed(tmp_path, monkeypatch):
    content = archive([*ARRAYS, ("huge.npy", b"\x93NUMPY junk")], zipfile.ZIP_DEFLATED)
    opened, real = [], zipfile.ZipFile.open
    monkeypatch.setattr(
        zipfile.ZipFile, "open", lambda self, one: opened.append(one) or real(self, one)
    )
    (tmp_path / "f.npz").write_bytes(content)
    assert Scores.read(tmp_path / "f.npz").members.count == 1
    assert [one.filename for one in opened] == ["score.npy", "member.npy"]


def said_of(head, size=64):
    """An .npy file with this header, and so many bytes of zeros."""
    text = head.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(size)


def header(kind="'<f8'", shape="(8,)", order="False"):
    return f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}"


DAMAGED = {
    "shape": said_of(header(shape="(1099511627776,)")),
    "negative": said_of(header(shape="(-1,)")),
    "two negatives": said_of(header(shape="(-1, -8)")),
    "text shape": said_of(header(shape="('8',)")),
    "shorter": said_of(header(shape="(7,)")),
    "longer": said_of(header(shape="(9,)")),
    "objects": said_of(header("'|O'")),
    "fields": said_of(header("[('x', '<f8')]")),
    "no size": said_of(header("'<U0'")),
    "wide": said_of(header("('<f8', (1099511627776,))")),
    "deep": said_of("(" * 400 + ")" * 400),
    "no dict": said_of("[1, 2]"),
    "no end": said_of("{'descr': '<f8"),
    "calls": said_of("__import__('os').abort()"),
    "version": b"\x93NUMPY\x09\x00" + bytes(80),
    "empty": b"",
    "pickle": b"\x80\x04N.",
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_array_is_refused(case, tmp_path):
    content = archive([("score.npy", DAMAGED[case]), ARRAYS[1]])
    said = said_everywhere("f.npz", content, tmp_path)
    pickled = ": objects are pickled, and may run any code when opened; save .astype(float)"
    why = said.removeprefix("f.npz must be an .npz file of plain arrays")
    assert why != said
    assert (why == pickled) == (case == "objects")
    assert why in ("", pickled) or why.startswith(", holds an array ")


def test_a_flipped_bit_is_noticed(tmp_path):
    content = bytearray(archive(ARRAYS))
    content[content.index(b"\xf0?")] ^= 1  # within the number 1.0
    said = said_everywhere("f.npz", bytes(content), tmp_path)
    assert said == "f.npz must be an .npz file of plain arrays"


def test_a_list_of_contents_without_end_is_not_read(tmp_path):
    content = archive([*ARRAYS, *((f"{k:060}", b"") for k in range(11_000))])
    assert "plain arrays" in said_everywhere("f.npz", content, tmp_path)


def test_an_archive_may_be_larger_than_its_list_of_contents(tmp_path):
    values = DRAW.normal(size=300_000)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "f.npz", members=values, non_members=[1.0])
        assert Scores.read(tmp_path / "f.npz").members.count == values.size


def test_arrays_that_unpack_to_more_than_is_allowed_are_refused(tmp_path):
    np.savez_compressed(tmp_path / "f.npz", members=np.zeros(10**6), non_members=[1.0])
    source = Source(tmp_path / "f.npz")
    with pytest.raises(BadScores, match=r"f\.npz must unpack to at most 1,000,000 bytes"):
        list(Reader(limits=FileLimits(unpacked=10**6)).files([source]))
    with deadline.within(memory=10**6), pytest.raises(LimitReached, match="8 MiB of memory"):
        Scores.read(tmp_path / "f.npz")


def bomb(name):
    """A few kilobytes that unpack to nearly 4 GiB of zeros, as the archive says."""
    packing = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packing.compress(bytes(2**24)) + packing.flush(zlib.Z_FULL_FLUSH)
    stream, size = block * 255 + b"\x03\x00", 255 * 2**24
    small = archive([(name, b"x")], zipfile.ZIP_DEFLATED)
    fields = struct.pack("<III", zlib.crc32(b"x"), 3, 1)
    assert small.count(fields) == 2
    start = small.index(name.encode()) + len(name)
    made = small[:start] + stream + small[start + 3 :]
    made = made.replace(fields, struct.pack("<III", 0, len(stream), size))
    end = len(made) - 6  # where the last record says that the list of contents begins
    at = int.from_bytes(made[end : end + 4], "little") + len(stream) - 3
    return made[:end] + at.to_bytes(4, "little") + made[end + 4 :]


def test_a_bomb_takes_no_room(tmp_path):
    held = io.BytesIO(bomb("score.npy"))
    with zipfile.ZipFile(held, "a") as packed:
        packed.writestr(*ARRAYS[1])
        packed.writestr("small.npy", ARRAYS[0][1])
    path = _written(tmp_path / "f.npz", held.getvalue())
    assert path.stat().st_size < 5_000_000
    tracemalloc.start()
    with pytest.raises(BadScores, match=r"must be an \.npz file of plain arrays"):
        Scores.read(path)
    with pytest.raises(BadScores, match="must unpack to at most 1,073,741,824 bytes of scores"):
        list(Reader(limits=FileLimits(unpacked=2**30)).files([Source(path)]))
    assert Scores.read(path, score="small").members.count == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


# -- text ------------------------------------------------------------------------------------------

LINES = {
    "ragged": (b"1,1\n2,0,3\n", "every row must have 2 cells, as the header has, got 3 in line 3"),
    "short": (b"1,1\n2\n", "every row must have 2 cells, as the header has, got 1 in line 3"),
    "shifted": (b"1\n1,2,0\n", "every row must have 2 cells, as the header has, got 1 in line 2"),
    "word": (b"1,1\n\nx,0\n", "score must be a number, got 'x' in line 4 of f.csv"),
    "underscore": (b"1_000,1\n", "score must be a number, got '1_000' in line 2 of f.csv"),
    "large": (b"1,0\n1e400,1\n", "score must fit a double, got '1e400' in line 3 of f.csv"),
    "nan": (b"1,0\n -NaN,1\n", "score must not be NaN, got nan in line 3 of f.csv"),
    "nul": (b"1,0\n1\0,1\n", "f.csv must be text, got a NUL character in line 3"),
    "latin": (b"1,0\n\xe9,1\n", "score must be a number, got 'é' in line 3 of f.csv"),
    "commas": (b'1,0\n"0,5",1\n0.5,1\n', "score must have decimal commas or decimal points, not"),
    "thousands": (
        b'"1,288",0\n17,1\n"-21,005",1\n',
        "score must say what its commas are: beside 17, 1,288 may be 1288 or 1.288. Write",
    ),
    "quote": (b'1,0\n"1,1\n2,0\n', "f.csv must be readable: unexpected end of data in the row"),
    "after": (b'1,0\n"1"x,1\n', "f.csv must be readable: ',' expected after '\"' in the row from"),
    "two lines": (b'1,0\n"1\n",1\nx,1\n', "score must be a number, got 'x' in line 5 of f.csv"),
    "colour": (b"\x1b[31mx,1\n", "score must be a number, got '\\x1b[31mx' in line 2 of f.csv"),
}


@pytest.mark.parametrize("case", LINES)
def test_what_is_wrong_is_told_with_its_line(case, tmp_path):
    rows, said = LINES[case]
    assert said_everywhere("f.csv", b"score,member\n" + rows, tmp_path).startswith(said)


@pytest.mark.parametrize("other", ["0,288", "1,2", "1234,567", ",5", "1,288e2"])
def test_commas_that_no_thousands_have_are_decimal(other, tmp_path):
    rows = f'score,member\n"1,288",0\n2,1\n"{other}",1\n'
    found = Scores.read(_written(tmp_path / "f.csv", rows.encode()))
    assert found.members.descending([1]) == max(2, float(other.replace(",", ".")))


def test_commas_that_may_be_either_are_refused_of_each_side_too(tmp_path):
    either = _written(tmp_path / "in.csv", b'score\n"1,288"\n2\n')
    decimal = _written(tmp_path / "out.csv", b'score\n"0,5"\n2\n')
    with pytest.raises(BadScores, match="score must say what its commas are"):
        Scores.read(members=either, non_members=either)
    assert Scores.read(members=either, non_members=decimal).members.descending([2]) == 1.288


def test_the_row_that_never_ends_is_named_by_its_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr(encodings, "LONGEST_ROW", 1000)
    rule = "f.csv must have rows of at most 1,000 characters, got a longer one in line"
    one_line = GOOD + b"1" * 2000 + b",1\n" + GOOD
    assert said_everywhere("f.csv", one_line, tmp_path) == f"{rule} 62"
    quoted = GOOD + b'"1\n",' * 900 + GOOD
    assert said_everywhere("f.csv", quoted, tmp_path) == f"{rule} 62"
    assert said_everywhere("f.csv", b"x" * 2000, tmp_path) == f"{rule} 1"


def test_encodings_and_ends_of_lines(tmp_path):
    wanted = Scores.read(_written(tmp_path / "f.csv", GOOD)).members.descending([1, 2, 3])
    ways = [b"\xef\xbb\xbf" + GOOD, GOOD.replace(b"\n", b"\r\n"), GOOD.replace(b"\n", b"\r")]
    for content in ways:
        found = Scores.read(_written(tmp_path / "f.csv", content))
        assert np.array_equal(found.members.descending([1, 2, 3]), wanted)
    mixed = b"score,member\r\n1,1\n2,0\r\n"
    assert Scores.read(_written(tmp_path / "f.csv", mixed)).non_members.descending(1) == 2
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        wide = Scores.read(_written(tmp_path / "f.csv", GOOD.decode().encode(encoding)))
        assert np.array_equal(wide.members.descending([1, 2, 3]), wanted)
        assert "encoded in UTF-16" in wide.notes[0]
    assert "UTF-32: save it" in said_everywhere("f.csv", GOOD.decode().encode("utf-32"), tmp_path)


def _written(path, content):
    path.write_bytes(content)
    return path


CELL = st.text(st.sampled_from('ab1 ,;"\n\r.e-é'), max_size=6)
ROW = st.tuples(st.floats(-1e9, 1e9), st.booleans(), CELL)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, min_size=1, max_size=40), chunk=st.integers(8, 200), quote=st.booleans())
def test_rows_are_read_as_they_were_written(rows, chunk, quote, monkeypatch):
    """However the file falls into pieces, and whether or not any cell needs quotes."""
    if not quote:
        rows = [(v, m, "".join(c for c in cell if c not in ',;"\n\r')) for v, m, cell in rows]
    escaped = [cell.replace('"', '""') for _, _, cell in rows]
    text = "score,member,run\n" + "".join(
        f'{value!r},{inside},"{cell}"\n' if quote else f"{value!r},{int(inside)},{cell}\n"
        for (value, inside, _), cell in zip(rows, escaped, strict=True)
    )
    monkeypatch.setattr(encodings, "CHUNK", chunk)
    source = Source(Path("f.csv"), text.encode())
    found = list(TextTable(source, FileLimits()).cells(["score", "member", "run"]))
    cells = [[cell for _, some in found for cell in some[k]] for k in range(3)]
    assert [float(one) for one in cells[0]] == [value for value, _, _ in rows]
    # The only thing that is not kept is how lines end within a cell.
    assert cells[2] == [cell.replace("\r\n", "\n") for _, _, cell in rows]


def test_many_columns_are_read_and_too_many_refused(tmp_path):
    names = ",".join(f"c{k}" for k in range(50_000))
    row = ",".join("0" * 50_000)
    content = f"score,member,{names}\n1,1,{row}\n0,0,{row}\n".encode()
    assert Scores.read(_written(tmp_path / "f.csv", content)).members.count == 1
    content = ("score,member" + ",c" * 10**6 + "\n").encode()
    assert "got a longer one in line 1" in said_everywhere("f.csv", content, tmp_path)


def test_a_column_that_is_missing_is_not_shown_in_full(tmp_path):
    said = said_everywhere("f.csv", b"x" * 10**5 + b",member\n1,1\n", tmp_path)
    assert len(said) < 300


# -- what is no file, or not what it says ----------------------------------------------------------


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "f.csv")
    with pytest.raises(BadScores, match=r"must name plain files, and .* is a pipe or a device"):
        Scores.read(tmp_path / "f.csv")
    with pytest.raises(BadScores, match="pipe or a device"):
        Scores.read("/dev/zero")
    for read in (described.read, sources.text):
        with pytest.raises(InvalidArgument, match="must be a plain file, got a pipe"):
            read(tmp_path / "f.csv")
        with pytest.raises(InvalidArgument, match="must be a plain file, got a device"):
            read("/dev/zero")
        with pytest.raises(InvalidArgument, match="must be a plain file, got a folder"):
            read(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("f.csv", parquet(["score"], [[1.0]]), "parquet"),
        ("f.csv", archive(ARRAYS), "npz"),
        ("f.csv", gzip.compress(GOOD), "csv.gz"),
        ("f.npz", parquet(["score"], [[1.0]]), "parquet"),
        ("f.parquet", archive(ARRAYS), "npz"),
    ],
)
def test_a_file_that_is_another_than_its_name_says(name, content, kind, tmp_path):
    said = said_everywhere(name, content, tmp_path)
    assert said == f"{name} must be what its name says, and is .{kind}: rename it"


@pytest.mark.parametrize("name", ["f.csv", "f.csv.gz", "f.npz", "f.parquet"])
def test_an_empty_file_is_named(name, tmp_path):
    assert said_everywhere(name, b"", tmp_path) == f"{name} must not be empty"


@pytest.fixture
def uncollected():
    """What is collected where the stack has no room left cannot end as it should."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 5000,
        "x = " + "[" * 5000,
        "x = " + "9" * 5000,
        "\x00",
        "x = '\x1b[31m'",
        "[model]\n" * 2,
    ],
)
def test_a_description_that_is_none_is_refused(text, tmp_path, uncollected):
    path = tmp_path / "f.toml"
    path.write_text(text)
    with pytest.raises(InvalidArgument) as refused:
        described.read(path)
    assert str(refused.value).startswith(str(path))


def test_labels_are_read_by_the_same_reader(tmp_path):
    path = _written(tmp_path / "f.csv", b"day,day\nwet,dry\n")
    with pytest.raises(BadScores, match="must have one column 'day', has 2"):
        state_columns.read(path, ["day"])
    path = _written(tmp_path / "f.csv", b"day,n\nwet,1\n\n,2\n")
    (day, _) = state_columns.read(path, ["day", "n"])
    assert day.rows == ["wet", None]
    assert day.place(1) == f"in line 4 of {path}"


# -- terminals -------------------------------------------------------------------------------------

STEERING = ["\x1b[31m", "\x9b31m", "\r", "\b", "\u202e", "\u2066", "\u2028", "\ud800", "\x07"]


@pytest.mark.parametrize("code", STEERING)
def test_what_steers_a_terminal_is_spelt_out(code):
    assert visible(f"a{code}b") == f"a{repr(code)[1:-1]}b"
    assert code[0] not in str(BadScores(f"{code} must not be there"))
    assert visible("ε ≤ 1, “in”\u00a0%") == "ε ≤ 1, “in”\u00a0%"


@pytest.mark.parametrize("code", ["\x1b[31m", "\x9b31m", "\u202e", "[red]"])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_file_cannot_steer_the_terminal(code, as_json, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    group = f"g{code}"
    rows = "".join(f"{k / 7},{k % 2},{group}\n" for k in range(40))
    name = f"f{code}.csv"
    (tmp_path / name).write_text(f"score,member,{group}\n{rows}", encoding="utf-8")
    options = ["--json"] if as_json else []
    asked = ["audit", name, "--design", "many-runs", "--each-group", group, *options]
    assert cli.main(asked) == 3  # without a claim nothing is judged
    out, err = capsys.readouterr()
    assert cli.main(["audit", name, "--design", "many-runs", "--score-column", code]) == 2
    out_two, err_two = capsys.readouterr()
    spelt = code if code == "[red]" else repr(code)[1:-1]
    assert spelt in err_two
    if code != "[red]":
        assert code not in out + err + out_two + err_two
    if as_json:
        assert code in json.dumps(json.loads(out), ensure_ascii=False) or group not in out


# -- reports ---------------------------------------------------------------------------------------


def test_a_file_beside_a_report_is_not_overwritten(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_bytes(GOOD)
    mine = tmp_path / "audit.json"
    asked = ["audit", "f.csv", "--design", "many-runs", "--epsilon", "1", "--report", "audit.html"]
    for content in ("{}", "[]", "mine", "", '{"headline": "x"}'):
        mine.write_text(content)
        assert cli.main(asked) == 2
        assert mine.read_text() == content
        assert "such as audit-report.html, or move that file" in capsys.readouterr().err
        assert not (tmp_path / "audit.html").exists()
    mine.unlink()
    assert cli.main(asked) == 0
    first = mine.read_text()
    assert cli.main([*asked, "--confidence", "0.9"]) == 0  # its own, from before
    assert mine.read_text() != first
    (tmp_path / "audit.html").unlink()
    assert cli.main(asked) == 2  # a report, but of no page that is there
    with pytest.raises(InvalidArgument, match=r"must leave .*audit\.json as it is"):
        report.write(report.of(many_runs(Scores([1.0, 2.0], [0.0, 1.0]))), "audit.html")


def test_an_archive_with_both_layouts_is_not_guessed_at(tmp_path):
    sides = {"members": npy([3.0, 4.0]), "non_members": npy([1.0, 2.0])}
    both = {**sides, "score": npy([1.0, 2.0]), "member": npy([1, 0]), "lira": npy([9.0, 0.0])}
    (tmp_path / "both.npz").write_bytes(archive([(f"{k}.npy", v) for k, v in both.items()]))
    with pytest.raises(BadScores, match="must have either 'members' and 'non_members' or an array"):
        Scores.read(tmp_path / "both.npz")
    named = Scores.read(tmp_path / "both.npz", score="lira")
    assert named.members.descending(1) == 9
    (tmp_path / "sides.npz").write_bytes(archive([(f"{k}.npy", v) for k, v in sides.items()]))
    with pytest.raises(BadScores, match="must have an array 'lira'"):
        Scores.read(tmp_path / "sides.npz", score="lira")


def test_runs_that_differ_by_a_blank_are_one(tmp_path):
    (tmp_path / "runs.csv").write_text("score,member,run\n1,1,a\n2,0,a \n")
    with pytest.raises(Unsupported, match="scores of run 'a' are not independent"):
        many_runs(Scores.read(tmp_path / "runs.csv", run="run"))
