"""Resource limits: how much the page takes, and what an answer may cost in time and memory."""

# Bytes of a file of scores, of what a compressed one may become, and its rows.
LARGEST_FILE = 16 * 1024 * 1024
LARGEST_OPENED = 8 * LARGEST_FILE
MOST_ROWS = 1_000_000
# A file of scores in base64, and what is asked along with it.
LARGEST_REQUEST = LARGEST_FILE * 4 // 3 + 2**20
# Connections that may be open at once, and requests that may be at work or wait for their turn.
MOST_CONNECTIONS = 500
MOST_REQUESTS = 32
# Seconds that an answer may take.
LONGEST = 30.0
# Bytes: of one array, and of all that an answer needs beside what its process has anyhow.
LARGEST_ARRAY = 2**30
MOST_MEMORY = 2 * 2**30
