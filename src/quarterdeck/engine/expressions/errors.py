"""The error of an invalid expression."""


class ExpressionError(ValueError):
    """Raised when an expression cannot be compiled; has the position and a hint."""

    def __init__(self, message: str, position: int, hint: str = "") -> None:
        self.message = message
        self.position = position
        self.hint = hint
        super().__init__(f"{message} at column {position + 1}" + (f"; {hint}" if hint else ""))
