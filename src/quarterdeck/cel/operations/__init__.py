"""Operators on values whose types are known only at run time.

Compiled code uses these where the checker could not choose an overload; the interpreter always
uses them.
"""
