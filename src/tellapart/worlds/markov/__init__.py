"""Markov chains: correlated records in a row, and what noise on their sum gives away."""
