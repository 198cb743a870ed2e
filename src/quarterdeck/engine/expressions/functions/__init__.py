"""The table of functions: names, parameters, results and descriptions.

To add a function, write it in `library` and add one entry to the module it belongs to: the checker,
the compiler and the reference page read this table.
"""

from quarterdeck.engine.expressions.functions.choices import CHOICES
from quarterdeck.engine.expressions.functions.function import Function
from quarterdeck.engine.expressions.functions.lists import LISTS
from quarterdeck.engine.expressions.functions.numbers import NUMBERS
from quarterdeck.engine.expressions.functions.texts import TEXTS
from quarterdeck.engine.expressions.functions.times import TIMES

__all__ = ["FUNCTIONS", "Function"]

FUNCTIONS: dict[str, Function] = {
    function.name: function for function in (*CHOICES, *NUMBERS, *TEXTS, *TIMES, *LISTS)
}
