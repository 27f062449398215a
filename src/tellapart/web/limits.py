"""Resource limits: how much the page takes, and what an answer may cost in time and memory."""

# Bytes of a file of scores, of what a compressed one may become, and its rows.
LARGEST_FILE = 16 * 1024 * 1024
LARGEST_OPENED = 8 * LARGEST_FILE
MOST_ROWS = 1_000_000
# Bytes of a question, and of the address that asks one: a decision goes into a link.
LARGEST_REQUEST = 256 * 1024
LARGEST_ADDRESS = 64 * 1024
# Files that one visit may keep, bytes of all visits together, and seconds until a visit is over.
MOST_FILES = 2
ALL_FILES = 512 * 1024 * 1024
LONGEST_VISIT = 30 * 60.0
# Connections that may be open at once, and seconds in which a request must have come.
MOST_CONNECTIONS = 500
SLOWEST_REQUEST = 30.0
# Processes for quick questions.
WORKERS = 3
# Seconds that an answer may take: on one's own machine, and on one that many visit.
LONGEST = 30.0
PATIENCE = 10.0
# Bytes: of one array, and of all that an answer needs beside what its process has anyhow.
LARGEST_ARRAY = 2**30
MOST_MEMORY = 2 * 2**30
