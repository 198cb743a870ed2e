"""Trees to Python code: start at `function`.

The code assumes the usual case: fields exist, integers do not overflow, dynamic values have the
right type. It raises an exception of any type where that is not so, and then the interpreter
evaluates the expression; it never returns a wrong value.
"""
