"""Attacks on released tables beside Anonymeter's, in one process, on three made tables.

Original and control are 1,000 people each. Releases: a fifth of the records copied among draws from
each column (copied); every record drawn again with noise (noised); records with two columns of
another one (mixed). Per release and attack: the mean gain over seeds, original records for which
the attack succeeds less those of the control. Of singling out these are the people whom 1,000
descriptions single out; Anonymeter's own count is that of descriptions. The distance of nearest
records was chosen on these tables with the seeds 0 to 5; ``--seeds N`` (default 8) begin at 100.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
from _peers import installed
from _timing import print_rows, told, versions

from tellapart import audit

PEOPLE = ATTACKS = 1_000
PARTS = (["region", "income", "weight"], ["age", "smoker", "visits"])
SECRETS = ("region", "income", "smoker")
Release = Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]


def people(rng: np.random.Generator) -> pd.DataFrame:
    """Made people, of numbers and categories that depend on each other."""
    n = PEOPLE
    region = rng.choice(list("ABCDEFGH"), n, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.07, 0.05, 0.03])
    age = np.clip(rng.normal(45, 18, n), 18, 95).round()
    smoker = np.where(rng.random(n) < 0.2 + 0.003 * (age - 45), "yes", "no")
    return pd.DataFrame(
        {
            "region": region,
            "age": age,
            "income": np.exp(rng.normal(10, 0.6, n) + 0.01 * (age - 45)).round(-1),
            "smoker": smoker,
            "weight": rng.normal(75, 12, n).round(1),
            "visits": rng.poisson(2 + 2 * (smoker == "yes")),
        }
    )


def copied(original: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """A fifth as they are, the rest drawn column by column."""
    some = original.iloc[rng.choice(PEOPLE, PEOPLE // 5, replace=False)]
    rest = {name: rng.choice(original[name], PEOPLE - len(some)) for name in original}
    return pd.concat([some, pd.DataFrame(rest)], ignore_index=True)


def noised(original: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Drawn again, numbers with noise, a tenth of the regions with another."""
    made = original.iloc[rng.choice(PEOPLE, PEOPLE)].reset_index(drop=True)
    for name, digits in (("age", 0), ("income", -1), ("weight", 1)):
        made[name] += rng.normal(0, 0.03 * original[name].std(), PEOPLE)
        made[name] = made[name].round(digits)
    other = rng.random(PEOPLE) < 0.1
    made.loc[other, "region"] = rng.choice(original["region"], int(other.sum()))
    return made


def mixed(original: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Records with two columns of another record each."""
    made, other = (original.iloc[rng.choice(PEOPLE, PEOPLE)].reset_index(drop=True) for _ in "ab")
    for row, pair in enumerate(rng.permuted(np.tile(np.arange(6), (PEOPLE, 1)), axis=1)[:, :2]):
        for column in pair:
            made.iat[row, column] = other.iat[row, column]
    return made


def ours(
    original: pd.DataFrame, released: pd.DataFrame, control: pd.DataFrame, seed: int
) -> dict[str, int]:
    """Gains by attack."""
    found = audit.tables(
        original, released, control, secrets=SECRETS, parts=PARTS, attacks=ATTACKS, seed=seed
    )
    return {attack.name: attack.successes - attack.control[0] for attack in found.attacks[1:]}


def anonymeters(
    original: pd.DataFrame, released: pd.DataFrame, control: pd.DataFrame, seed: int
) -> dict[str, int]:
    """Gains by attack, under the same names."""
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator
    from anonymeter.evaluators import singling_out_evaluator as singling

    rng, release = np.random.default_rng(seed), pl.DataFrame(released).unique(maintain_order=True)
    alone = singling.univariate_singling_out_queries(release, ATTACKS, rng)
    several = singling.multivariate_singling_out_queries(release, ATTACKS, 3, 50_000, rng)
    gains = {
        f"singling out ({columns})": singled(original, queries) - singled(control, queries)
        for columns, queries in (("1 column", alone), ("3 columns", several))
    }
    given = {"ori": original, "syn": released, "control": control, "n_attacks": ATTACKS}
    made = {"linkability": LinkabilityEvaluator(**given, aux_cols=PARTS).evaluate(n_jobs=1)}
    for asked in SECRETS:
        known = [name for name in original if name != asked]
        attack = InferenceEvaluator(
            **given, aux_cols=known, secret=asked, regression=asked == "income"
        )
        made[f"inference of {asked}"] = attack.evaluate(n_jobs=1)
    results = {name: each.results() for name, each in made.items()}
    return gains | {name: each.n_success - each.n_control for name, each in results.items()}


def singled(table: pd.DataFrame, queries: list[pl.Expr]) -> int:
    """How many people of a table are the only one that some description fits."""
    fits = pl.DataFrame(table).select(query.alias(str(k)) for k, query in enumerate(queries))
    hits = fits.to_numpy().astype(float)
    return len(set(hits[:, np.nansum(hits, axis=0) == 1].argmax(axis=0).tolist()))


def error(pairs: list[tuple[int, int]]) -> float:
    """The standard error of the mean difference, over two seeds or more."""
    differences = np.subtract(*np.transpose(pairs))
    return float(differences.std(ddof=1) / np.sqrt(differences.size))


def main() -> int:
    """Print gains and their ratio; 1 if ours are less in sum, or one by three standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")  # Anonymeter warns of each small sample
    logging.disable(logging.WARNING)
    if not installed("anonymeter"):  # which asks for NumPy 1, and does with 2
        print("Anonymeter is not installed: pip install --no-deps anonymeter; pip install numba")
        return 0
    print(versions("anonymeter", "numpy", "pandas"))
    rng = np.random.default_rng(0)
    anonymeters(people(rng), people(rng), people(rng), 0)  # compiles, and is not timed
    took, missed = np.zeros(2), False
    for name, release in (("copied", copied), ("noised", noised), ("mixed", mixed)):
        gains: dict[str, list[tuple[int, int]]] = {}
        for seed in range(100, 100 + seeds):
            rng = np.random.default_rng(seed)
            original, control = people(rng), people(rng)
            tables = original, release(original, rng), control
            start = time.process_time()
            first = ours(*tables, seed)
            middle = time.process_time()
            second = anonymeters(*tables, seed)
            took += middle - start, time.process_time() - middle
            for attack, gain in first.items():
                gains.setdefault(attack, []).append((gain, second[attack]))
        means = {attack: np.mean(pairs, axis=0) for attack, pairs in gains.items()}
        print(f"\n{name}")
        rows = [
            (
                attack,
                f"{a:.1f}",
                f"{b:.1f}",
                f"{a / b:.2f}" if b > 0 else "-",
                f"{error(gains[attack]):.1f}",
            )
            for attack, (a, b) in means.items()
        ]
        print_rows(("gain", "tellapart", "Anonymeter", "ratio", "SE of diff."), rows)
        own, theirs = np.sum(list(means.values()), axis=0)
        missed |= told(f"{name}: more than Anonymeter in sum; {own / theirs:.2f}", own > theirs)
        weaker = [each for each, (a, b) in means.items() if a < b - 3 * error(gains[each])]
        missed |= told(f"{name}: no attack weaker by three standard errors", not weaker)
    print(f"\nCPU seconds: tellapart {took[0]:.1f}, Anonymeter {took[1]:.1f}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
