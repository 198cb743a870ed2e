"""Log lines for programs and for people."""

import io
import logging as standard_logging
from typing import Any

import msgspec
import pytest

from quarterdeck.runtime.observability import logging


@pytest.fixture
def logs() -> Any:
    stream = io.StringIO()
    logging.configure("info", form="json", stream=stream)
    yield stream
    root = standard_logging.getLogger(logging.ROOT)
    root.handlers.clear()
    root.propagate = True
    root.setLevel(standard_logging.NOTSET)


def test_logs_are_json_lines_with_bound_fields_and_a_changeable_level(logs: io.StringIO) -> None:
    log = logging.get_logger("x", kind="Thing").bind(name="a")
    log.debug("unseen")
    log.info("seen", duration_s=1.5)
    logging.set_level("debug")
    assert logging.get_level() == "debug"
    try:
        raise ValueError("bad")
    except ValueError as error:
        log.error("failed", error=error)
    first, second = (msgspec.json.decode(line) for line in logs.getvalue().splitlines())
    assert first["message"] == "seen"
    assert (first["kind"], first["name"], first["duration_s"]) == ("Thing", "a", 1.5)
    assert "ValueError: bad" in second["error"]
    with pytest.raises(ValueError, match="debug, info"):
        logging.set_level("loud")


def test_console_logs_are_one_line_for_people() -> None:
    record = standard_logging.LogRecord("q", 20, "f", 1, "hello", (), None)
    record.fields = {"a": 1, "b": "two words"}
    line = logging.ConsoleFormatter().format(record)
    assert line.endswith('info    hello  a=1 b="two words"')


def test_extra_of_a_plain_logger_is_in_the_line(logs: io.StringIO) -> None:
    extra = {"peer": "10.0.0.1", "count": 2}
    standard_logging.getLogger("quarterdeck.server").warning("refused", extra=extra)
    line = msgspec.json.decode(logs.getvalue())
    assert line.keys() == {"time", "level", "logger", "message", "peer", "count"}
    assert (line["peer"], line["count"]) == ("10.0.0.1", 2)
    record = standard_logging.makeLogRecord({"msg": "refused", **extra})
    assert logging.ConsoleFormatter().format(record).endswith("refused  peer=10.0.0.1 count=2")


def test_console_logs_hold_no_control_characters_of_values() -> None:
    record = standard_logging.makeLogRecord({"msg": "refused", "reason": "\x1b[2J"})
    assert logging.ConsoleFormatter().format(record).endswith('reason="\\u001b[2J"')


@pytest.mark.parametrize("formatter", [logging.JsonFormatter(), logging.ConsoleFormatter()])
def test_tracebacks_tell_no_secret(formatter: standard_logging.Formatter) -> None:
    value = "hunter" + "2"  # the source line is in the traceback, too
    try:
        raise KeyError(f"password={value}")
    except KeyError as error:
        found = (type(error), error, error.__traceback__)
    record = standard_logging.LogRecord("q", 40, "f", 1, "failed", (), found)
    text = formatter.format(record)
    assert "test_tracebacks_tell_no_secret" in text
    assert "KeyError: 'password=***'" in text
    assert value not in text


def test_logs_configured_again_go_to_the_new_stream_alone(logs: io.StringIO) -> None:
    second = io.StringIO()
    logging.configure("info", form="console", stream=second)
    logging.get_logger("x").info("once")
    assert logs.getvalue() == ""
    assert second.getvalue().count("once") == 1


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid LOG_FORMAT 'xml': must be one of json, console"):
        logging.configure(form="xml")
