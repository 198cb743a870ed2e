"""The expression language: text to tokens to a tree to Python code that works on columns.

`lexer` and `parser` read, `checker` finds what cannot work, `functions` is the table of functions,
`compiler` writes code for the kinds of value at hand. `compat` has the rules of the original.
"""
