"""Calling a mechanism one knows nothing of, often, and reading whatever comes out."""
