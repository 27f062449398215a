"""Tables on disk, read without holding them in memory."""
