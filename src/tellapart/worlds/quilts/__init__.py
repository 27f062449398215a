"""Noise for data in a row by Markov quilts (Song, Wang and Chaudhuri 2017).

A quilt of a record is one or two others that shield the far ones from it. What they tell of the
record, at most, is their influence e. With c records on the near side, noise of scale c/(ε - e)
protects the record; each takes its best quilt, and noise is what the worst record needs. This
protects every query that one record can change by at most 1, not a single query only.
"""

from tellapart.worlds.quilts._mixing import Mixing, mixing
from tellapart.worlds.quilts.quilt import Quilt, quilt_scale, quilt_scale_approximate

__all__ = ["Mixing", "Quilt", "mixing", "quilt_scale", "quilt_scale_approximate"]
