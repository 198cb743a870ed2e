"""Evaluates an expression step by step and counts its cost: start at `interpret`.

This is the reference implementation. Compiled code is fast but handles only the usual case; when it
raises, the interpreter determines the value, the error or the cost.
"""
