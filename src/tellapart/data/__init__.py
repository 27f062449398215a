"""Score files and tables of labels, read without holding them in memory.

- `reading`: the one door for score files; `layout`: which columns are meant; `scores_and_labels`:
  cells into scores and membership labels; `table`: what every format gives;
- `csv_file` and `json_file` (over `encodings`), `npz`, `parquet`, `feather`: formats; `columns`:
  names, and frames; `sources`: files and limits;
- `state_columns`: columns of states and groups; `ranked`: what audits ask of scores;
  `sorted_runs`: the same of scores that stay on disk.
"""
