"""The meaning of an expression, step by step, with its cost: start at `interpret`.

This is the reference: compiled code is fast and optimistic, and whenever it stumbles the
interpreter says what the answer, the error, or the price really is.
"""
