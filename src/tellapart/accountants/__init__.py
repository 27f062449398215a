"""Privacy accountants for those of dp_accounting and Opacus: same interfaces, exact curves.

`events` reads a dp_accounting event tree, and `opendp` a measurement of OpenDP; `dp_accounting` and
`opacus` hold accountants for the packages of those names and need the extra that each names.
Importing this package loads neither.
What the one for Opacus looks at: `loaders` (sampling schemes), `clipping` (norms and noise) and
`engine` (``make_private``); `training_promise` is what a training would promise.

All of them account for a plan of steps fixed beforehand. None is a privacy filter: to compose in a
loop and stop when ε reaches a target gives no guarantee if outputs decide what comes next. Use
`tellapart.Budget` for that.
"""
