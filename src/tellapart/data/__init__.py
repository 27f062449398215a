"""Score files and tables of labels, read without holding them in memory.

- `sources`: files and limits; `columns`: values cleaned; `csv_file`, `npz`, `parquet`: formats;
- `reading`: the one door for score files; `labels`: columns of states and groups;
- `ranked`: what audits ask of scores; `sorted_runs`: the same of scores that stay on disk.
"""
