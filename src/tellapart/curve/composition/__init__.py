"""Compositions: from the laws of single privacy losses to the trade-off curve of all steps."""
