"""Every figure of the founding paper and posts, in the order in which they appear."""

from __future__ import annotations

from tellapart.reproduce import auxiliary, differential, neighbours, overview, regions
from tellapart.reproduce.picture import Draw, Picture

FIGURES: tuple[Draw, ...] = (
    overview.figure_one,
    differential.figure_two,
    differential.figure_three,
    differential.figure_four,
    auxiliary.figure_five,
    auxiliary.figure_six,
    auxiliary.figure_seven,
    auxiliary.figure_eight,
    neighbours.figure_nine,
    regions.regions_epsilon,
    regions.regions_delta,
    regions.region_point,
    regions.region_printed,
)


def draw_all() -> tuple[Picture, ...]:
    """All figures, drawn anew."""
    return tuple(draw() for draw in FIGURES)
