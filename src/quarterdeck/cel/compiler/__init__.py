"""Trees to Python code: start at `function`.

The code assumes that everything goes well: fields are there, integers fit, dynamic values have
the right type. It raises (anything) as soon as that is not so, and then the interpreter takes
over; it never returns a wrong answer instead.
"""
