"""Writes seattle_weather.csv from the table in the package vega_datasets 0.9.0.

Run with the path of that package's seattle-weather.csv.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path


def main(source: Path) -> None:
    """Keep date, rain and kind of weather; say of each day whether any rain or snow fell."""
    with source.open(encoding="utf-8") as lines:
        days = list(csv.DictReader(lines))
    target = Path(__file__).with_suffix(".csv")
    with target.open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["date", "precipitation", "weather", "day"])
        for row in days:
            day = "wet" if float(row["precipitation"]) > 0 else "dry"
            date = row["date"].replace("/", "-")
            table.writerow([date, row["precipitation"], row["weather"], day])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
