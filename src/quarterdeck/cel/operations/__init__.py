"""Operators on values whose types are only known now; `dispatch` finds the one to call.

Compiled code uses these where the checker could not decide; the interpreter uses nothing else.
"""
