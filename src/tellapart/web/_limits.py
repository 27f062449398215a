"""How much the page takes, and how much an answer of it may cost."""

from __future__ import annotations

from tellapart.web._scores import LARGEST_FILE

# A file of scores in base64, and what is asked along with it.
LARGEST_REQUEST = LARGEST_FILE * 4 // 3 + 2**20
# Seconds that an answer may take, as long as the page waits for one.
LONGEST = 30.0
# Bytes: of one array, and of all that an answer needs beside what its process has anyhow.
LARGEST_ARRAY = 2**30
MOST_MEMORY = 2 * 2**30
