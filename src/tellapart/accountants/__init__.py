"""For people who come from other accountants: their descriptions read, their interfaces answered.

`events` reads a dp_accounting event tree; `dp_accounting` and `opacus` hold accountants for the
packages of those names and need the extra that each names. Importing this package loads neither.
"""
