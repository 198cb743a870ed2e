"""Schemas and their rules: the types they declare, rules compiled and run on objects.

The face is `quarterdeck.cel.validate`; then read `declared`, `rules` and `evaluation`.
"""
