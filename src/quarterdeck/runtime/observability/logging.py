"""Structured logs: a constant message and fields, as JSON lines or for people.

A thin face over the standard `logging`, whose handlers, capture and levels keep working; nothing
else is imported, because start-up time is a feature. `configure` is called once by a program,
never by the library.
"""

import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

ROOT = "quarterdeck"
_OWN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"fields", "taskName"}
"""Attributes of a record that are not fields; those of `extra` are."""
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "warn": 30, "error": 40, "critical": 50}


class Logger:
    """A logger with bound fields; `bind` returns another one. Costs little while it is silent."""

    __slots__ = ("_fields", "_target")

    def __init__(self, target: logging.Logger, fields: dict[str, object] | None = None) -> None:
        self._target = target
        self._fields = fields or {}

    def bind(self, **fields: object) -> "Logger":
        """A logger that adds these fields to every line."""
        return Logger(self._target, self._fields | fields)

    def debug(self, message: str, **fields: object) -> None:
        """Log a single step, for debugging."""
        self._log(logging.DEBUG, message, fields)

    def info(self, message: str, **fields: object) -> None:
        """Log a change of state."""
        self._log(logging.INFO, message, fields)

    def warning(self, message: str, **fields: object) -> None:
        """Log a problem that was or will be resolved without help, such as by a retry."""
        self._log(logging.WARNING, message, fields)

    def error(self, message: str, *, error: BaseException | None = None, **fields: object) -> None:
        """Log a problem that needs action; `error` adds its traceback."""
        self._log(logging.ERROR, message, fields, error)

    def _log(
        self,
        level: int,
        message: str,
        fields: dict[str, object],
        error: BaseException | None = None,
    ) -> None:
        if self._target.isEnabledFor(level):
            extra = {"fields": self._fields | fields if fields else self._fields}
            self._target.log(level, message, extra=extra, exc_info=error)


def get_logger(name: str = "", **fields: object) -> Logger:
    """A logger of the project; `name` is a dotted suffix such as `runtime.manager`."""
    return Logger(logging.getLogger(f"{ROOT}.{name}" if name else ROOT), fields)


class _RedactingFormatter(logging.Formatter):
    """Takes secrets out of tracebacks, whose last line repeats the message of the exception."""

    def formatException(self, ei: Any) -> str:
        """The traceback, masked as the message is in conditions, events and fields."""
        from quarterdeck.kit.redaction import redact  # loaded with the first traceback

        return redact(super().formatException(ei))


class JsonFormatter(_RedactingFormatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, logger, message, then the fields."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= _get_fields(record)
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        import json  # loaded with the first line

        return json.dumps(line, default=str)


class ConsoleFormatter(_RedactingFormatter):
    """Aligned text for people."""

    def format(self, record: logging.LogRecord) -> str:
        """`12:00:00.000 info  message  key=value`."""
        clock = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        fields = _get_fields(record).items()
        text = " ".join(f"{name}={_format_value(value)}" for name, value in fields)
        line = f"{clock} {record.levelname.lower():<7} {record.getMessage()}  {text}".rstrip()
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def _format_value(value: object) -> str:
    text = str(value)
    if text.isprintable() and text and not any(c in text for c in ' "='):
        return text
    import json

    return json.dumps(text)


def _get_fields(record: logging.LogRecord) -> dict[str, object]:
    """The fields of a line: of the trace, of a `Logger`, and the `extra` of plain loggers."""
    extra = {name: value for name, value in vars(record).items() if name not in _OWN_ATTRIBUTES}
    return _get_trace_fields() | getattr(record, "fields", {}) | extra


def _get_trace_fields() -> dict[str, object]:
    """Ids of the running trace, only if a tracer is loaded in this process."""
    tracing = sys.modules.get("quarterdeck.runtime.observability.tracing")
    found: dict[str, object] = tracing.get_log_fields() if tracing is not None else {}
    return found


def parse_level(text: str) -> int:
    """A level by name.

    Raises:
        ValueError: naming the levels there are.
    """
    try:
        return _LEVELS[text.strip().lower()]
    except KeyError:
        known = ", ".join(name for name in _LEVELS if name != "warn")
        raise ValueError(f"invalid LOG_LEVEL {text!r}: must be one of {known}") from None


def configure(
    level: str | None = None, *, form: str | None = None, stream: TextIO | None = None
) -> None:
    """Send the project's logs to a stream, by default stderr.

    The level comes from the argument, else LOG_LEVEL, else info. The form is `json` or `console`;
    by default LOG_FORMAT, else console on a terminal and JSON elsewhere.
    """
    stream = stream if stream is not None else sys.stderr
    form = form or os.environ.get("LOG_FORMAT") or ("console" if stream.isatty() else "json")
    if form not in ("json", "console"):
        raise ValueError(f"invalid LOG_FORMAT {form!r}: must be one of json, console")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if form == "json" else ConsoleFormatter())
    root = logging.getLogger(ROOT)
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.propagate = False
    set_level(level or os.environ.get("LOG_LEVEL") or "info")


def set_level(level: str) -> None:
    """Change the level while running."""
    logging.getLogger(ROOT).setLevel(parse_level(level))


def get_level() -> str:
    """The current level."""
    return logging.getLevelName(logging.getLogger(ROOT).getEffectiveLevel()).lower()
