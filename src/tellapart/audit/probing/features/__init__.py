"""Features: from outputs of any kind to columns of numbers."""
