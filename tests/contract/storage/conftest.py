"""One suite, every store: each test that asks for `stores` runs on memory and on SQLite."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from quarterdeck.storage import Derive, Store, open_memory, open_sqlite

Open = Callable[..., Store]


def _open_memory(*, derive: Derive | None = None, history_events: int = 10_000) -> Store:
    return open_memory(derive=derive, history_events=history_events)


@pytest.fixture(params=["memory", "sqlite full", "sqlite normal"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "memory":
        return _open_memory
    durability = request.param.split()[1]
    return partial(open_sqlite, tmp_path / "state.db", durability=durability)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "state.db"
