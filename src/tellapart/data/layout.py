"""Long or wide form, and which columns hold scores and membership: found, asked for, or refused.

A column is found where its name says what it is (score, lira, is_member, split) and no other does,
or where a file holds nothing else that could be meant. Whatever is found is said. Where several
could be meant, the error lists them with the option to type: a class label must not be taken for
membership, as that would refute true claims.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from tellapart.data.columns import Names, listed, no_column, position, refuse_unread
from tellapart.data.scores_and_labels import (
    MEMBER_WORDS,
    NON_MEMBER_WORDS,
    is_missing,
    is_number,
    plain_word,
    same_label,
)
from tellapart.data.table import FileTable
from tellapart.errors import BadScores, NoColumn

SCORE, MEMBER = "score", "member"
_YES, _NO = {"1", "true", "t", "yes", "y"}, {"0", "false", "f", "no", "n"}
# Of more columns than these only the names are looked at.
LOOKED_AT = 200

# Names of columns in small letters, without blanks, dashes and dots.
_MEMBER_NAMES = re.compile(
    "(is|in)?mem(ber)?(ships?)?(labels?)?|(is)?(in)?train(ing)?(set|data)?|trainedon|(is)?in(side|out)?|"
    "(is)?included|split"
)
_SCORE_NAMES = re.compile(
    ".*scores?|lira|rmia|mia|loss(es)?|logits?|nll|perplexity|signal|(test)?statistic|exposure|"
    "llr|(log)?likelihoodratio|confidence|attackoutput"
)
# Columns whose 1 says non-member.
_NON_MEMBER_NAMES = re.compile(
    "(is|in)?(non|not)(a)?mem(ber)?s?(hip)?|(is)?out(side)?|(is|in)?test(ing)?(set|data)?|"
    "(is)?(held|hold)out|(is)?excluded|(is)?unseen"
)
# Names that a program gives where nobody did.
_NAMELESS = re.compile(r"column_?\d+|arr_\d+|unnamed:? ?\d+|[vx]?\d+", re.IGNORECASE)
# What counts or names rows, and is no score.
_IDS = re.compile(
    "index|idx|u?id|(row|record|sample|model|target)(id|s|names?)?|unnamed0|name|text|run|seed|fold"
)
_TRAININGS = re.compile("(run|model|seed|trial|experiment|fold|target)(id|s|names?)?")
_RUNS = re.compile("(run|model|seed|trial|experiment|fold)(id)?")
# Whose values say of which attack, or of which moment of a training, a score is.
_KINDS = re.compile(
    "attack(name|type)?|method|metric|score(name|type)|epoch|step|iter(ation)?|checkpoint|"
    "aug(mentation)?s?|view"
)
# Whose values name the record that a score is of.
_RECORDS = re.compile(
    "(record|sample|example|canary|document|user|person|patient)(id|idx|index|name)?|"
    "(uu?)?id|text|prompt"
)
# So many rows are looked at for records that come again: those of canaries are hardly more.
_LOOKED_FOR = 2**19
_QUANTITY = re.compile(
    "scores?|loss(es)?|logits?|signals?|preds?|predictions?|values?|statistics?|lira|rmia"
)
# Of more pairs of columns the rest is not named.
_FEW_PAIRS = 3
# Of fewer rows than these nobody can say that they rise.
_FEWEST_ROWS = 5
_INSIDE = re.compile("mem(ber)?s?|in(side)?|train(ing)?")
_OUTSIDE = re.compile("nonmem(ber)?s?|out(side)?|test(ing)?|others|heldout")


@dataclass(frozen=True)
class SideColumn:
    """A column that holds scores of members alone, or of non-members alone."""

    column: str
    inside: bool


@dataclass(frozen=True)
class Layout:
    """Where scores and membership stand: a column each (long), or a column a side (wide)."""

    names: Names
    sides: tuple[SideColumn, ...] = ()
    notes: tuple[str, ...] = ()

    def repeated(self, table: FileTable) -> str:
        """Which record has several scores on one side, in words; nothing where none has."""
        return _repeated_record(table, self.names, [side.column for side in self.sides])


def settled(table: FileTable, asked: Names, member_value: str | None = None) -> Layout:
    """Where scores and membership stand in a file, or the question that must be answered."""
    for name in asked.wanted.values():
        position(table.names, name, table, table.what)
    sides = _sides(table) if asked == Names() else ()
    if sides:
        has_score, has_member = (name in table.names for name in (SCORE, MEMBER))
        if has_score and (has_member or table.what == "array"):
            raise BadScores(
                f"{table} must have either {sides[0].column!r} and {sides[1].column!r} or "
                f"{_a(table)} for each column, has {listed(table.names)}: keep one of them, or "
                "name the column of scores"
            )
        if not has_score:
            return _wide(table, asked, sides)
    member, by_content = _member(table, asked, member_value)
    score = _score(table, asked, member)
    names = Names(score, member, asked.run, asked.group)
    for name in names.wanted.values():
        position(table.names, name, table, table.what)
    _refuse_unread(table, names)
    _refuse_stacked(table, names)
    notes = []
    if asked.score is None and score != SCORE:
        notes.append(f"scores in {table.what} {score!r}")
    if asked.member is None and member != MEMBER:
        why = ", the only one with two values" if by_content else ""
        notes.append(f"membership in {table.what} {member!r}{why}")
    return Layout(names, (), tuple(notes))


def one_sided(table: FileTable, score: str | None, inside: bool = True) -> Layout:
    """The scores in a file of members alone, or of non-members alone."""
    _refuse_other_side(table, inside)
    if score is None:
        numbers = [name for name in table.names if _is_score(name)] or _numeric(table)
        if len(table.names) == 1:
            numbers = table.names
        if len(numbers) != 1:
            _ask(table, "scores", "score", numbers or table.names)
        score = numbers[0]
    position(table.names, score, table, table.what)
    _refuse_unread(table, Names(score))
    _refuse_stacked(table, Names(score))
    has_scores = len(table.names) > 1
    notes = (f"scores in {table.what} {score!r}",) if has_scores else ()
    return Layout(Names(score), (SideColumn(score, inside),), notes)


def same_scores(one: str, two: str) -> bool:
    """Whether columns of a file for each side may hold the same scores: train_loss, test_loss."""
    if one == two or _NAMELESS.fullmatch(one) or _NAMELESS.fullmatch(two):
        return True
    (first, of_first), (second, of_second) = _side_of(one), _side_of(two)
    return first is not None and second is not None and of_first == of_second


def _refuse_other_side(table: FileTable, inside: bool) -> None:
    """Refuse a file of one side whose column of labels speaks of the other."""
    for name in table.names[:LOOKED_AT]:
        if not _MEMBER_NAMES.fullmatch(_bare(name)) or table.names.count(name) > 1:
            continue
        if len(table.names) == 1 or not _two_valued(table, name, None):
            continue
        other = NON_MEMBER_WORDS if inside else MEMBER_WORDS
        for batch in table.batches([name]):
            for row, value in enumerate(batch.columns[0]):
                if not is_missing(value) and plain_word(value) in other:
                    raise BadScores(
                        f"{table} must have {'members' if inside else 'non-members'} alone, and "
                        f"{name!r} is {str(value)!r} {batch.place(row)}",
                        ": give the file by itself, without --members and --non-members, or rename "
                        "the column",
                    )


def _refuse_unread(table: FileTable, names: Names, read: Sequence[str] = ()) -> None:
    """Refuse columns of runs, models or seeds that nobody asked for, where their values repeat."""
    wanted = [*names.wanted.values(), *read]
    refuse_unread(table.names, wanted, table, table.what)
    if names.run is not None or any(_RUNS.fullmatch(_bare(name)) for name in wanted):
        return
    there = table.names[:LOOKED_AT]
    for name in there:
        if not _RUNS.fullmatch(_bare(name)) or name in wanted or not _repeats(table, name):
            continue
        records = [n for n in there if re.fullmatch("(record|sample)(id)?", _bare(n))]
        matrix = ""
        if _bare(name).startswith("model") and records:
            matrix = (
                f" If each row is a model and a record ({name!r}, {records[0]!r}), it is a matrix: "
                "a .parquet file with columns model and record is read with --coins, in Python "
                "audit.Matrix.read(path, coins=), which says how training sets were drawn."
            )
        raise NoColumn(
            f"{table} has {_a(table)} {name!r} whose values repeat, so that scores may not be "
            "independent",
            f".{matrix} If it tells runs apart, add --run-column {_quoted(name)}, in Python "
            f"run={name!r} (independence is then checked); otherwise rename it",
        )


def _refuse_stacked(table: FileTable, names: Names, read: Sequence[str] = ()) -> None:
    """Refuse several scores of one record: read as so many records, they refute true claims."""
    wanted = [*names.wanted.values(), *read]
    there = [n for n in table.names[:LOOKED_AT] if n not in wanted and table.names.count(n) == 1]
    for name in there:
        if _KINDS.fullmatch(_bare(name)) and _again(table, [name]):
            raise NoColumn(
                f"{table} has {_a(table)} {name!r} of several values that repeat, so that rows may "
                "be scores of one record. Keep the rows of one value, chosen before you look at "
                "what they show, or rename it if every row is of another record; of runs, "
                f"--each-group {_quoted(name)}, in Python group={name!r}, judges each value apart"
            )


def _repeated_record(table: FileTable, names: Names, read: Sequence[str] = ()) -> str:
    """Which record has several scores on one side, in words; nothing where none has.

    That is right where each row is of a training of its own, and wrong for canaries of one run.
    """
    wanted = [*names.wanted.values(), *read]
    beside = [column for part, column in names.wanted.items() if part != "score"]
    for name in table.names[:LOOKED_AT]:
        if name in wanted or table.names.count(name) > 1 or not _RECORDS.fullmatch(_bare(name)):
            continue
        again = _again(table, [name, *beside])
        if again:
            return f"{_short(again)!r} of {table.what} {name!r} in {table}"
    return ""


def _again(table: FileTable, columns: Sequence[str]) -> str:
    """A value of the first column that comes again beside the same ones of the others.

    None where the column has one value alone, or holds something else than a value for each row.
    """
    seen: set[int] = set()
    values: set[str] = set()
    again, rows = "", 0
    try:
        for batch in table.batches(columns):
            some = (column[: _LOOKED_FOR - rows] for column in batch.columns)
            for cells in zip(*some, strict=True):
                if is_missing(cells[0]):
                    continue
                key = tuple(str(cell).strip() for cell in cells)
                short = hash(key)  # whole keys of so many rows would take hundreds of megabytes
                again = again or (key[0] if short in seen else "")
                if len(values) < 2:
                    values.add(key[0])
                if again and len(values) == 2:
                    return again
                seen.add(short)
            rows += batch.rows
            if rows >= _LOOKED_FOR:
                break
    except BadScores:
        return ""
    return ""


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _repeats(table: FileTable, name: str) -> bool:
    """Whether a value stands in two rows; all are read only where the first ones all differ."""
    seen: set[str] = set()
    position(table.names, name, table, table.what)
    for batch in table.batches([name]):
        for value in batch.columns[0]:
            if is_missing(value):
                continue
            text = str(value).strip()
            if text in seen:
                return True
            seen.add(text)
    return False


def is_wide(table: FileTable) -> bool:
    """Whether a file has a column of members' scores and one of non-members'."""
    return bool(_sides(table)) and SCORE not in table.names


# -- wide form -------------------------------------------------------------------------------------


def _sides(table: FileTable) -> tuple[SideColumn, ...]:
    """A column of members' scores and one of non-members', where there is one such pair."""
    for exact in ("non_members", "others"):
        if {"members", exact} <= set(table.names):
            return SideColumn("members", True), SideColumn(exact, False)
    pairs = _pairs(table)
    if len(pairs) != 1 or any(len(names) > 1 for names in pairs[0].values()):
        return ()
    members, non_members = pairs[0][True][0], pairs[0][False][0]
    others = [name for name in table.names if name not in (members, non_members)]
    # Two columns of losses beside an epoch are the log of a training, and no scores; so are lists
    # of training and test losses beside others, whether they have rows in common or not.
    log = table.aligned or _of_training(members, non_members)
    if log and not all(_names_rows(name) for name in others):
        return ()
    return SideColumn(members, True), SideColumn(non_members, False)


def _pairs(table: FileTable) -> list[dict[bool, list[str]]]:
    """Columns of members (True) and of non-members, of each thing that there are both of."""
    sides: dict[str, dict[bool, list[str]]] = {}
    for name in table.names:
        what, rest = _side_of(name)
        if what is not None:
            sides.setdefault(rest, {}).setdefault(what, []).append(name)
    return [pair for pair in sides.values() if len(pair) == 2]


def _of_training(members: str, non_members: str) -> bool:
    """Whether two sides may be those of a training's log: train_loss, test_loss."""
    return "train" in members.lower() or "test" in non_members.lower()


def _names_rows(name: str) -> bool:
    """Whether a column names records; one of folds or seeds names trainings."""
    bare = _bare(name)
    return bool(_IDS.fullmatch(bare) and not _TRAININGS.fullmatch(bare)) or bool(
        re.fullmatch(r"column\d+", name)
    )


def _side_of(name: str) -> tuple[bool | None, str]:
    """Whether a name such as `in_scores` speaks of members (True) or not, and of what: scores."""
    words = re.split(r"[\s_.\-]+", re.sub(r"(?i)\bnon[\s_\-]+mem", "nonmem", _spaced(name)).lower())
    words = [word for word in words if word]
    sides = [word for word in words if _INSIDE.fullmatch(word) or _OUTSIDE.fullmatch(word)]
    rest = [word for word in words if word not in sides]
    if len(sides) != 1 or any(not _QUANTITY.fullmatch(word) for word in rest[-1:]):
        return None, ""
    return bool(_INSIDE.fullmatch(sides[0])), " ".join(rest)


def _spaced(name: str) -> str:
    """Names written together: memberScores, nonMemberLoss."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace("_", " ").replace("non ", "non-")


def _wide(table: FileTable, asked: Names, sides: tuple[SideColumn, ...]) -> Layout:
    columns = [side.column for side in sides]
    for name in columns:
        position(table.names, name, table, table.what)
    _refuse_unread(table, Names(), columns)
    _refuse_stacked(table, Names(), columns)
    _refuse_no_scores(table, columns)
    _refuse_log(table, sides)
    note = f"members in {columns[0]!r}, non-members in {columns[1]!r}"
    return Layout(asked, sides, (note,))


def _refuse_no_scores(table: FileTable, columns: Sequence[str]) -> None:
    """Refuse two sides that may be lists of rows, or labels, and no scores."""
    both = f"{columns[0]!r} and {columns[1]!r}"
    rest = [name for name in table.names if name not in columns]
    rivals = [n for n in rest if _is_score(n) or _MEMBER_NAMES.fullmatch(_bare(n))]
    if rivals:
        raise NoColumn(
            f"{table} must say where the scores are: in {both}, or in {listed(rivals)}. Keep one "
            "of them",
            ", or name both columns with --score-column and --member-column, in Python score=, "
            "member=",
        )
    heads = [[value for value in table.head(name) if not is_missing(value)] for name in columns]
    cells = [str(value).strip() for head in heads for value in head]
    if not cells:
        return
    pairs = {tuple(map(plain_word, pair)) for pair in zip(*heads, strict=False)}
    one_hot = {("0", "1"), ("1", "0"), ("true", "false"), ("false", "true")}
    if len(heads[0]) == len(heads[1]) and pairs <= one_hot:
        raise NoColumn(
            f"{table} must have scores in {both}, and one is 1 where the other is 0, as labels "
            "are. Keep one of them",
            f": --member-column {_quoted(columns[0])}, in Python member={columns[0]!r}",
        )
    if all(re.fullmatch(r"\d+", cell) for cell in cells) and len(set(cells)) == len(cells):
        raise NoColumn(
            f"{table} must have scores in {both}, and these hold different whole numbers, as lists "
            "of rows do. Write scores as 1.0",
            ", or a table to be read with --score-column and --member-column, in Python score=, "
            "member=",
        )


def _refuse_log(table: FileTable, sides: Sequence[SideColumn]) -> None:
    """Refuse losses that rise or fall along the rows: those of epochs, and of no records."""
    columns = [side.column for side in sides]
    if not _of_training(*columns):
        return
    for name in columns:
        if _rises_or_falls([value for value in table.head(name) if not is_missing(value)]):
            raise NoColumn(
                f"{table} must have scores of records in {columns[0]!r} and {columns[1]!r}, and "
                f"{name!r} rises or falls along the rows, as the log of a training does. Name them "
                "members and non_members if each row is a record",
                ", or give a file for each side with --members in.csv --non-members out.csv, in "
                "Python members=, non_members=",
            )


def _rises_or_falls(values: Sequence[object]) -> bool:
    """Whether numbers are in an order that chance would hardly give them (Spearman's ρ)."""
    texts = [str(value).strip().replace(",", ".") for value in values]
    if len(texts) < _FEWEST_ROWS or not all(map(is_number, texts)):
        return False
    _, which, counts = np.unique(
        np.array([float(text) for text in texts]), return_inverse=True, return_counts=True
    )
    if len(counts) == 1:
        return False
    ranks = (np.cumsum(counts) - counts / 2)[which.reshape(-1)]  # of equal ones their mean
    least = min(max(0.5, 3 / np.sqrt(len(ranks) - 1)), 0.95)
    return bool(abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) >= least)


# -- long form -------------------------------------------------------------------------------------


def _bare(name: str) -> str:
    """The last part of a name, in small letters: results.is_member is ismember."""
    return re.sub(r"[\W_]+", "", name.rpartition(".")[2].lower())


def _member(table: FileTable, asked: Names, member_value: str | None) -> tuple[str, bool]:
    """The column of labels, and whether what it holds alone says so."""
    if asked.member is not None:
        _ask_of_non_members(table, asked.member, member_value)
        return asked.member, False
    if MEMBER in table.names:
        return MEMBER, False
    free = [name for name in table.names if name not in asked.wanted.values()]
    named = [name for name in free if _MEMBER_NAMES.fullmatch(_bare(name))]
    if len(named) > 1:
        named = [name for name in named if _two_valued(table, name, member_value)] or named
    if len(named) == 1:
        return named[0], False
    if named:
        _ask(table, "membership labels", "member", named)
    few = len(table.names) <= LOOKED_AT
    labels = [name for name in free if few and _two_valued(table, name, member_value)]
    if not labels or len(table.names) == 1:
        raise _no_labels(table)
    for name in labels:
        _ask_of_non_members(table, name, member_value)
    others = [name for name in free if name not in labels and not _counts(table, name)]
    # What a column of 0 and 1 is must be said by its name: a prediction, or a class, would refute
    # true claims. Without names, it is membership alone with a score that it is no threshold of.
    alone = len(others) == (1 if asked.score is None else 0)
    if len(labels) == 1:
        score = asked.score or (others[0] if alone else None)
        if alone and score and _NAMELESS.fullmatch(labels[0]) and _mixed(table, score, labels[0]):
            return labels[0], True
        words = MEMBER_WORDS | NON_MEMBER_WORDS
        if member_value is not None and plain_word(member_value) not in words:
            return labels[0], alone
    more = "; a prediction or a class is none: then add a column 'member' of 1 and 0"
    return _ask(table, "membership labels", "member", labels, more)


def _mixed(table: FileTable, score: str, label: str) -> bool:
    """Whether scores of both labels overlap in the first rows: a threshold's output never does."""
    sides: dict[str, list[float]] = {}
    for value, cell in zip(table.head(score), table.head(label), strict=False):
        if is_missing(value) or is_missing(cell):
            continue
        text = str(value).strip().replace(",", ".")
        if not is_number(text):
            return False
        sides.setdefault(plain_word(cell), []).append(float(text))
    if len(sides) != 2:
        return False
    first, second = sides.values()
    return max(first) > min(second) and max(second) > min(first)


def _ask_of_non_members(table: FileTable, name: str, member_value: str | None) -> None:
    """Ask about a column such as is_test, whose 1 is a non-member."""
    if member_value is not None or not _NON_MEMBER_NAMES.fullmatch(_bare(name)):
        return
    values = _values(table, name)
    plain = {plain_word(value) for value in values}
    if plain & (_YES | _NO):
        inside = next((value for value in values if plain_word(value) in _NO), "0")
        raise NoColumn(
            f"{table} must say which value of {name!r} is a member's, as its name speaks of "
            "non-members",
            f": add --member-column {_quoted(name)} --member-value {_quoted(inside)}, in Python "
            f"member={name!r}, member_value={inside!r}",
        )


def _score(table: FileTable, asked: Names, member: str) -> str:
    if asked.score is not None:
        return asked.score
    if SCORE in table.names:
        return SCORE
    taken = {member, *asked.wanted.values()}
    free = [name for name in table.names if name not in taken]
    named = [name for name in free if _is_score(name)]
    if len(named) == 1:
        return named[0]
    numbers = named or [name for name in _numeric(table) if name in free]
    if len(numbers) == 1:
        return numbers[0]
    if numbers:
        _ask(table, "scores", "score", numbers)
    raise no_column(table, SCORE, table.names, table.what)


def _is_score(name: str) -> bool:
    return bool(_SCORE_NAMES.fullmatch(_bare(name)))


def _numeric(table: FileTable) -> list[str]:
    """The columns that hold numbers and do not just count rows."""
    if len(table.names) > LOOKED_AT:
        return []
    unlikely = (_IDS, _MEMBER_NAMES)
    likely = [
        name for name in table.names if not any(each.fullmatch(_bare(name)) for each in unlikely)
    ]
    return [name for name in likely if _holds_numbers(table, name) and not _counts(table, name)]


def _holds_numbers(table: FileTable, name: str) -> bool:
    values = [value for value in table.head(name) if not is_missing(value)]
    return bool(values) and all(
        is_number(value) if isinstance(value, str) else _is_real(value) for value in values
    )


def _is_real(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _counts(table: FileTable, name: str) -> bool:
    """Whether a column numbers the rows: 0, 1, 2 and so on, or 1, 2, 3."""
    values = [str(value) for value in table.head(name)]
    return len(values) > 2 and any(
        values == [str(k + first) for k in range(len(values))] for first in (0, 1)
    )


def _two_valued(table: FileTable, name: str, member_value: str | None) -> bool:
    """Whether a column holds labels of members and non-members, or the value named for members."""
    values = {str(value) for value in table.head(name) if not is_missing(value)}
    if member_value is not None:
        return len(values) < 20 and any(same_label(value, member_value) for value in values)
    return bool(values) and {plain_word(value) for value in values} <= (
        MEMBER_WORDS | NON_MEMBER_WORDS
    )


# -- questions -------------------------------------------------------------------------------------


def _ask(
    table: FileTable, what: str, part: str, candidates: Sequence[str], more: str = ""
) -> NoReturn:
    """The question which column is meant, with what may be answered."""
    example = candidates[0]
    raise NoColumn(
        f"{table} must say which {table.what} holds the {what}: {listed(list(candidates))}",
        f". Choose with --{part}-column {_quoted(example)}, in Python {part}={example!r}{more}",
    )


def _no_labels(table: FileTable) -> NoColumn:
    """Scores without labels: how they may be given."""
    sides = "--members in.csv --non-members out.csv, in Python members=, non_members="
    if len(table.names) == 1:
        return NoColumn(
            f"{table} must say who is a member, and has one {table.what}, {listed(table.names)}: "
            "add a column of labels",
            f", or give a file for each side with {sides}",
        )
    pairs = _pairs(table)
    if len(pairs) > 1:
        several = " or ".join(
            f"{listed(pair[True])} and {listed(pair[False])}" for pair in pairs[:_FEW_PAIRS]
        )
        return NoColumn(
            f"{table} must have scores of one attack, and holds those of {len(pairs)}: {several}"
            f"{', ...' if len(pairs) > _FEW_PAIRS else ''}. Keep the two of one, chosen before you "
            "look at what they show",
            f", or give a file for each side with {sides}",
        )
    seen = ""
    such = (
        ": --member-column names it and --member-value its value for members (in Python member=, "
        "member_value=)"
    )
    for name in table.names[:LOOKED_AT]:
        values = _values(table, name)
        if len(values) == 2 and not _is_score(name):
            seen = f": {name!r} has two values, {' and '.join(map(repr, values))}"
            such = (
                f"; if it is that, type --member-column {_quoted(name)} --member-value "
                f"{_quoted(values[0])}, in Python member={name!r}, member_value={values[0]!r}"
            )
            break
    return NoColumn(
        f"{table} must have {_a(table)} that says who is a member, such as 'member' with 1 and 0, "
        f"has {listed(table.names)}{seen}",
        f"{such}. Scores in a file for each side are read with {sides}",
    )


def _values(table: FileTable, name: str) -> list[str]:
    """The different values of a column, in order."""
    return list(dict.fromkeys(str(x).strip() for x in table.head(name) if not is_missing(x)))


def _quoted(text: str) -> str:
    """As typed on a command line."""
    return text if re.fullmatch(r"[\w.-]+", text) else f"'{text}'"


def _a(table: FileTable) -> str:
    return f"an {table.what}" if table.what == "array" else f"a {table.what}"
