"""Settings that a ConfigMap changes without a restart."""

import io
from collections.abc import Iterator
from logging import getLogger

import pytest

from quarterdeck.app.errors import SettingError
from quarterdeck.app.live_settings import apply_settings, watch_settings
from quarterdeck.app.settings import Settings
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.runtime import Manager
from quarterdeck.runtime.observability import logging
from quarterdeck.runtime.observability.logging import get_logger


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = getLogger(logging.ROOT)
    before = (root.handlers[:], root.level, root.propagate)
    stream = io.StringIO()
    logging.configure(stream=stream)
    yield stream
    root.handlers[:], root.level, root.propagate = before
    root.setLevel(before[1])  # forgets what was found out for the other level


def test_the_level_of_the_log_is_set_and_comes_back(lines: io.StringIO) -> None:
    settings, log = Settings(log_level="warning"), get_logger("test")
    apply_settings({"LOG_LEVEL": "debug"}, settings, log=log)
    assert logging.get_level() == "debug"
    assert "settings applied" in lines.getvalue()
    apply_settings({}, settings, log=log)
    assert logging.get_level() == "warning"


def test_values_that_cannot_be_applied_are_warned_of(lines: io.StringIO) -> None:
    before = logging.get_level()
    data = {"LOG_LEVEL": "loud", "REDIS_URL": "redis://other", "OWN": "1"}
    apply_settings(data, Settings(), log=get_logger("test"))
    assert logging.get_level() == before
    text = lines.getvalue()
    assert "invalid setting ignored" in text
    assert "loud" in text
    assert "setting takes effect after a restart" in text
    assert "REDIS_URL" in text
    assert "OWN" not in text


@pytest.mark.parametrize("name", ["settings", "/settings", "default/"])
async def test_a_config_map_is_named_with_its_namespace(name: str) -> None:
    async with Client(ClusterConfig(server="http://127.0.0.1:1")) as client:
        manager = Manager(client, name="test")
        settings = Settings(settings_configmap=name)
        with pytest.raises(SettingError, match="give NAMESPACE/NAME"):
            watch_settings(manager, settings, log=get_logger("test"))
