"""Two laws of a true answer, seen through one release: the curves of secrets told apart."""
