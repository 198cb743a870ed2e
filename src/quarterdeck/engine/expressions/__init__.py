"""The expression language: text to tokens to a tree to Python code that works on columns.

`lexer` and `parser` read, `checker` finds errors, `functions` is the table of functions, `compiler`
generates code for the kinds of value in use. `compat` has the rules of the original ClusterPulse.
"""
