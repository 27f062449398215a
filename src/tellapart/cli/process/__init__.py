"""How a command runs as a process.

`exits`: exit codes and signals; `limits`: time and memory; `child_process`: code of others, in a
process of its own.
"""
