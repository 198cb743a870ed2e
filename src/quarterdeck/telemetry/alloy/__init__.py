"""Alloy's configuration syntax: a lexer, a parser, and a comparison that ignores formatting.

Pure: text in, tree or error out. Start at `parser`.
"""
