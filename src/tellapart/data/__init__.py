"""Score files and tables of labels, read without holding them in memory.

- `reading`: the one door for score files; `layout`: which columns are meant; `meaning`: cells into
  scores and labels; `table`: what every format gives;
- `csv_file` and `json_file` (over `encodings`), `npz`, `parquet`, `feather`: formats; `columns`:
  names, and frames; `sources`: files and limits;
- `labels`: columns of states and groups; `ranked`: what audits ask of scores; `sorted_runs`: the
  same of scores that stay on disk.
"""
