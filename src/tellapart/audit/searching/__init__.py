"""Search for the worst-case neighbouring inputs: `domains` describe inputs, `worst_pair` searches.

Domains are gathered in `domains`: `answers` of queries, lists of `records`, pairs of one's own (in
`domain`).
"""
