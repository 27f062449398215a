"""Cases that mean harm, drawn from a seed, and the laws that hold for every one of them."""

import base64
import io
import json
import os
import random
import re
import struct
import subprocess
import sys
import zipfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PORT = 8123
# Done, no, wrong use or unreadable, cannot judge, interrupted. 70 would be a bug of ours.
CODES = {0, 1, 2, 3, 130}
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

# -- what is drawn from ----------------------------------------------------------------------------

ODD = (
    *(
        "nan",
        "inf",
        "-inf",
        "-0",
        "-0.0",
        "0",
        "1e-320",
        "5e-324",
        "1e308",
        "1e309",
        "-1",
        "9" * 400,
    ),
    *(
        "",
        " ",
        "é",
        "ε",
        "\x1b[31m",
        "[red]",
        "[/]",
        "\u202e",
        "\udcff",
        "a\nb",
        "\x9b",
        "'",
        '"',
        "%s",
    ),
    *(
        "null",
        "[]",
        "{}",
        "true",
        "0x10",
        "1_000",
        "1e",
        "--",
        "-",
        "@",
        "@f.json",
        "@nowhere",
        "1%",
    ),
    *(
        "../..",
        "/",
        "/dev/null",
        "/dev/zero",
        "/nowhere/x",
        "*",
        "**/*",
        "~",
        "x.svg",
        "x.html",
        ".",
    ),
    *("one:x=1", "laplace:", "gaussian:sigma=0", "gaussian:sigma=nan", "+", "a" * 5000),
)
PLAIN = ("0.5", "1", "2", "0.01", "1e-5", "10", "0.1", "100", "1000", "0.999", "3")
WORDS = (
    *("any", "gaussian", "laplace", "dpsgd", "randomised-response", "gaussian:sigma=2"),
    *("laplace:epsilon=1", "gaussian:sigma=2,sampled=0.01,repeated=100"),
    *("many-runs", "one-run", "one-model", "higher", "lower", "either", "split", "band", "ranks"),
    *("score", "member", "run", "release.py:noisy_count", "[3, 1]", "[3, 1, 4]", "x.svg", "x.html"),
    *("f.csv", "f.npz", "f.parquet", "chain.toml", "f.json", "unit=one person"),
)


def scores(rng, rows=24):
    """A few rows of a good table, as text."""
    return [
        (f"{rng.gauss(0, 1):.6g}", str(k % 2), f"r{k}") for k in range(rng.randint(2, rows) + 2)
    ]


def good_files(rng):
    """One valid file of every kind."""
    rows = scores(rng)
    text = "score,member,run\n" + "".join(f"{','.join(row)}\n" for row in rows)
    values, inside = [float(row[0]) for row in rows], [int(row[1]) for row in rows]
    held = io.BytesIO()
    save = rng.choice([np.savez, np.savez_compressed])
    save(held, score=values, member=inside, run=np.array([row[2] for row in rows]))
    one = io.BytesIO()
    np.save(one, np.asarray([values, inside], order=rng.choice("CF")))
    records = [{"score": v, "member": m} for v, m in zip(values, inside, strict=True)]
    return {
        "f.csv": text.encode(),
        "f.tsv": text.replace(",", "\t").encode(rng.choice(["utf-8", "utf-16", "latin-1"])),
        "f.txt": "".join(f"{row[0]} {row[1]}\n" for row in rows).encode(),
        "f.npy": one.getvalue(),
        "f.jsonl": "".join(f"{json.dumps(row)}\n" for row in records).encode(),
        "scores.json": json.dumps(records).encode(),
        "f.feather": _feather(values, inside),
        "f.npz": held.getvalue(),
        "f.parquet": _parquet(rng, values, inside),
        "f.toml": (ROOT / "examples" / rng.choice(["chain.toml", "flu.toml"])).read_bytes(),
        "f.json": _curve(rng).encode(),
    }


def _parquet(rng, values, inside):
    import pyarrow as pa
    import pyarrow.parquet as pq

    held = io.BytesIO()
    table = pa.table({"score": values, "member": [one == 1 for one in inside]})
    pq.write_table(table, held, compression=rng.choice(["snappy", "zstd", "none", "gzip"]))
    return held.getvalue()


def _feather(values, inside):
    import pyarrow as pa
    import pyarrow.feather

    held = io.BytesIO()
    pyarrow.feather.write_feather(pa.table({"score": values, "member": inside}), held)
    return held.getvalue()


def _curve(rng):
    import tellapart as ta
    from tellapart.curve.exchange import to_json

    kinds = [
        ta.guarantee(epsilon=1, delta=1e-5),
        ta.Gaussian(2).curve(),
        ta.RandomizedResponse(1.0).curve()
        if hasattr(ta, "RandomizedResponse")
        else ta.guarantee(2),
    ]
    return to_json(rng.choice(kinds))


# -- what is done to bytes -------------------------------------------------------------------------


def mutated(rng, content, other=b""):
    """The same bytes, spoilt in one to four ways."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        content = rng.choice(WAYS)(rng, content, other)
    return content


def _flipped(rng, content, _):
    made = bytearray(content)
    for _ in range(rng.choice([1, 1, 3, 20])):
        if made:
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def _cut(rng, content, _):
    return content[: rng.randrange(len(content) + 1)]


def _beheaded(rng, content, _):
    return content[rng.randrange(len(content) + 1) :]


def _spliced(rng, content, other):
    at, to = rng.randrange(len(content) + 1), rng.randrange(len(other) + 1)
    return content[:at] + other[to:]


def _repeated(rng, content, _):
    start = rng.randrange(len(content) + 1)
    end = min(len(content), start + rng.choice([1, 8, 100, 5000]))
    return content[:end] + content[start:end] * rng.choice([1, 2, 50]) + content[end:]


def _inserted(rng, content, _):
    at = rng.randrange(len(content) + 1)
    odd = rng.choice(
        [
            b"\0",
            b"\xff\xfe",
            b'"',
            b"\r",
            b"\n",
            b"\xef\xbb\xbf",
            b"\x1b[31m",
            b",",
            b"[",
            b"]" * 50,
        ]
        + [one.encode("utf-8", "surrogateescape") for one in ODD]
        + [b"score,", b",score", b"," * 3000, b"9" * 5000, b"[" * 3000, b"A" * 300_000]
    )
    return content[:at] + odd + content[at:]


def _counted(rng, content, _):
    """A number within, such as a length, becomes an extreme one."""
    if len(content) < 8:
        return content
    size, value = rng.choice(
        [(2, 2**16 - 1), (4, 2**31 - 1), (4, 2**32 - 1), (8, 2**63 - 1), (4, 0)]
    )
    at = rng.randrange(len(content) - 7)
    return content[:at] + struct.pack("<Q", value)[:size] + content[at + size :]


def _at_the_end(rng, content, _):
    """What lies in a footer or a list of contents is changed, where formats keep their lengths."""
    if len(content) < 64:
        return content
    made = bytearray(content)
    made[-rng.randint(1, 64)] = rng.randrange(256)
    return bytes(made)


def _written_otherwise(rng, content, _):
    """A word or a number of the text, replaced by an odd one."""
    parts = re.split(rb"([\w.+-]+)", content)
    if len(parts) > 2:
        at = rng.randrange(len(parts) // 2) * 2 + 1
        parts[at] = rng.choice(ODD).encode("utf-8", "surrogateescape")
    return b"".join(parts)


WAYS = (
    *(_flipped, _cut, _beheaded, _spliced, _repeated),
    *(_inserted, _counted, _at_the_end, _written_otherwise),
)


def rezipped(rng, content):
    """An archive whose members are spoilt, and whose checksums are right again."""
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as packed, zipfile.ZipFile(held, "w") as made:
        for name in packed.namelist():
            inner = packed.read(name)
            # Within the header, most of the time: that is what says how large an array is.
            head = mutated(rng, inner[:128], inner) if rng.random() < 0.7 else inner[:128]
            made.writestr(name, head + inner[128:])
    return held.getvalue()


# -- cases -----------------------------------------------------------------------------------------


def file_case(seed):
    """A spoilt file of any kind, for its reader or for the command line."""
    rng = random.Random(f"file {seed}")  # noqa: S311
    good = good_files(rng)
    name = rng.choice([*good, "f.csv", "f.npz"])
    content = good[name]
    if name == "f.npz" and rng.random() < 0.5:
        content = rezipped(rng, content)
    else:
        content = mutated(rng, content, rng.choice(list(good.values())))
    files = {name: _packed(content)}
    audit = ["audit", name, "--design", "many-runs", "--epsilon", "1"]
    asked = {
        ".toml": ["frameworks", name],
        ".json": ["probe", "release.py:noisy_count", "--d0", f"@{name}", "--d1", "[1]"],
    }
    if rng.random() < 0.25:
        files["release.py"] = _packed((ROOT / "examples" / "release.py").read_bytes())
        return {"kind": "command", "argv": asked.get(name[1:], audit), "files": files}
    return {"kind": "file", "name": name, "files": files}


def _packed(content):
    return base64.b64encode(content).decode()


# Pages that are served until they are stopped, and a page of figures that takes its minutes.
LEFT_OUT = {"explore", "reproduce", "serve"}


@cache
def commands():
    """Every command with its own options: positional ones, flags, and those with a value.

    Each comes with the values that fit it.
    """
    from tellapart.cli.app import COMMANDS, application

    app = application(*COMMANDS)
    found = {}
    words = {name: [word for word in app[name] if not word.startswith("-")] for name in COMMANDS}
    for name in [f"{one} {word}".strip() for one in COMMANDS for word in words[one] or [""]]:
        if name in LEFT_OUT:
            continue
        command = reduce(getitem, name.split(), app)
        every = [one for one in command.assemble_argument_collection() if one.parse]
        named = [one for one in every if one.names[0].startswith("--")]
        found[name] = (
            [one.names[0] for one in every if not one.names[0].startswith(("-", "*"))],
            [one.names[0] for one in named if one.hint is bool],
            {
                one.names[0]: _fitting(one.names[0], one.hint)
                for one in named
                if one.hint is not bool
            },
        )
    return found


FITTING = {
    "MECHANISM": ("any", "gaussian", "laplace", "gaussian:sigma=2", "laplace:epsilon=1"),
    "MECHANISMS": ("gaussian:sigma=2", "laplace:epsilon=1", "any:epsilon=1"),
    "FILES": ("f.csv", "f.npz", "f.parquet", "f.npy", "f.jsonl"),
    "FUNCTION": ("release.py:noisy_count",),
    "LEDGER": ("team.jsonl", "sqlite:///team.db"),
    "MODEL": ("chain.toml", "f.toml"),
    "PAGE": ("x.html",),
    "--d0": ("[3, 1]",),
    "--d1": ("[3, 1, 4]",),
    "--plot": ("x.svg",),
    "--report": ("x.html",),
}


def _fitting(name, hint):
    """Values of the right type, if not always of the right size."""
    kinds = re.findall(r"'([\w-]+)'", str(hint)) if "Literal" in str(hint) else ()
    numbers = PLAIN if re.search(r"\b(float|int)\b", str(hint)) else ()
    return FITTING.get(name) or tuple(kinds) or numbers or WORDS


def command_case(seed):
    """A command with options of its own; half of the cases fit but for one value, if at all."""
    rng = random.Random(f"command {seed}")  # noqa: S311
    known = commands()
    name = rng.choice(sorted(known))
    positional, flags, valued = known[name]
    odd = rng.choice([0.0, 0.1, 0.1, 0.5])

    def value(fitting):
        return rng.choice(rng.choice([ODD, ODD, WORDS, PLAIN]) if rng.random() < odd else fitting)

    argv = name.split()
    argv += [value(FITTING[one]) for one in positional if one in FITTING and rng.random() < 0.9]
    given = rng.sample(sorted(valued), min(rng.choice([0, 0, 1, 2, 4]), len(valued)))
    needed = [one for one in ("--design", "--d0", "--d1", "--epsilon") if one in valued]
    for option in dict.fromkeys([*(needed if rng.random() < 0.8 else []), *given]):
        text = value(valued[option])
        argv += [f"{option}={text}"] if rng.random() < 0.3 else [option, text]
    argv += rng.sample(flags, rng.randint(0, len(flags)))
    if rng.random() < odd:
        argv.insert(rng.randrange(len(argv) + 1), rng.choice(ODD))
    if rng.random() < odd:
        argv.append(rng.choice(argv))
    if "--time-limit" in valued and "--time-limit" not in argv:
        argv += ["--time-limit", "5"]
    files = {name: _packed(content) for name, content in good_files(rng).items()}
    for example in ("release.py", "chain.toml"):
        files[example] = _packed((ROOT / "examples" / example).read_bytes())
    # No argument of a real command holds a NUL: the system would not start it.
    return {"kind": "command", "argv": [one.replace("\0", "") for one in argv], "files": files}


VIEWS = ("", "explore", "check", "choose", "compare", "correlated", "audit", "glossary", "nowhere")
KINDS = ("", "/report", "/csv", "/json", "/svg", "/python", "/command", "/nothing")


def page_case(seed):
    """A request as the page sends them, spoilt at one level or another."""
    rng = random.Random(f"page {seed}")  # noqa: S311
    values, view, file = _values(rng), rng.choice(VIEWS), None
    if rng.random() < 0.3:
        name, content = rng.choice(list(good_files(rng).items()))
        if rng.random() < 0.7:
            content = mutated(rng, content)
        file, view = {"name": name, "content": _packed(content)}, rng.choice(["audit", "choose"])
    if rng.random() < 0.3:
        values[rng.choice(["changed", "shape", "part", "file", "record"])] = _odd_value(rng)
    body = json.dumps(values if rng.random() < 0.95 else _odd_value(rng)).encode()
    if rng.random() < 0.2:
        body = mutated(rng, body)
    path, method = f"/api/{view}{rng.choice(KINDS) if rng.random() < 0.2 else ''}", "POST"
    if rng.random() < 0.25:
        path = rng.choice([f"/{view}", f"/{view}", "/assets/page.js", "/health", "/assets/../x"])
        pairs = [(key, str(value)) for key, value in values.items()]
        odd = quote(rng.choice(ODD), errors="surrogateescape")
        path += rng.choice(["", f"?{odd}", "?" + urlencode(pairs, errors="replace")])
        method = rng.choice(["GET", "GET", "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"])
    headers = {"Host": f"127.0.0.1:{PORT}", "Content-Type": "application/json"}
    if rng.random() < 0.1:
        odd = rng.choice(["", "x", "127.0.0.1:x", "[::1", "a:b:c", "\x7f", "localhost:99999999999"])
        headers[rng.choice(["Host", "Origin", "Content-Type", "Cookie"])] = odd
    return {
        "kind": "page",
        "method": method,
        "path": path,
        "headers": headers,
        "body": _packed(body),
        "file": file,
    }


FIELDS = (
    *("mechanism", "mechanisms", "other", "design", "orientation", "confidence", "score", "member"),
    *("run", "example", "picture", "epsilon", "delta", "prior", "fpr", "alpha", "measure", "limit"),
)


def _values(rng):
    found = {
        rng.choice(FIELDS): rng.choice([rng.choice(WORDS), rng.choice(PLAIN), _odd_value(rng)])
        for _ in range(rng.randrange(5))
    }
    return {**found, "example": True} if rng.random() < 0.1 else found


def _odd_value(rng):
    plain = [None, True, -1, 0, 1e308, 10**400, "", [], {}, [[]], {"a": {"b": []}}, {"content": 3}]
    text = rng.choice(ODD).encode("utf-8", "replace").decode()
    return rng.choice([rng.choice(plain), text, {"name": text, "content": text}])


# -- laws ------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What became of the cases, and those that broke a law."""

    seconds: float
    mebibytes: float
    codes: Counter = field(default_factory=Counter)
    statuses: Counter = field(default_factory=Counter)  # of HTTP, where a page is asked
    broken: list = field(default_factory=list)
    total: float = 0.0
    slowest: float = 0.0
    largest: float = 0.0

    def add(self, name, told):
        self.codes[told["code"]] += 1
        if name.startswith("page_case"):
            self.statuses[told["out"].strip() or "none"] += 1
        self.total += told["cpu"]
        self.slowest = max(self.slowest, told["cpu"])
        self.largest = max(self.largest, told["mib"])
        laws = {
            f"code {told['code']}": told["code"] in CODES,
            "a traceback": "Traceback (most recent call last)" not in told["err"],
            f"{told['cpu']:.0f} seconds": told["cpu"] <= self.seconds,
            f"{told['mib']:.0f} MiB": told["mib"] <= self.mebibytes,
            "what steers a terminal": not _STEERING.search(told["err"] + told["out"]),
            "more than a line": told["code"] != 2 or told["err"].strip().count("\n") == 0,
            "no word": told["code"] != 2 or "page" in name or told["err"].strip() != "",
        }
        wrong = [law for law, holds in laws.items() if not holds]
        if wrong:
            last = told["err"].strip().splitlines()[-1:] or [""]
            self.broken.append(f"{name}: {', '.join(wrong)}: {last[0][:200]}")

    def __str__(self):
        codes = ", ".join(f"{code}: {n}" for code, n in sorted(self.codes.items()))
        answers = ", ".join(f"{status}: {n}" for status, n in sorted(self.statuses.items()))
        seconds = f"{self.total:.1f} s in all, at most {self.slowest:.1f}"
        page = f"; HTTP {answers}" if answers else ""
        return f"codes {codes}{page}; {seconds}; at most {self.largest:.0f} MiB"


@contextmanager
def runner():
    """A function that runs one case in a process of its own, and tells what became of it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "COLUMNS": "80"}
    with subprocess.Popen(  # noqa: S603
        [sys.executable, str(Path(__file__).with_name("forked.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:

        def run(case):
            process.stdin.write(json.dumps(case) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield run
        process.stdin.close()


def judged(run, cases, seconds, mebibytes):
    """Run all cases, each by its name, and count."""
    tally = Tally(seconds, mebibytes)
    for name, case in cases:
        tally.add(name, run(case))
    sys.stdout.write(f"{tally}\n")
    return tally
