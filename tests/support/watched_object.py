"""Waits for the state of an object as a user would: by `quarterdeck watch`."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest


def wait_for_object(
    *target: str, environment: Mapping[str, str], is_met: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Watch a kind, or one object of it, until one of the objects meets a condition.

    A watch costs nothing while it waits; asking again and again would take a core.
    """
    command = [sys.executable, "-m", "quarterdeck.cli", "watch", *target, "-o", "json"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout is not None and watch.stderr is not None
        try:
            for line in watch.stdout:
                change: dict[str, Any] = json.loads(line)
                found: dict[str, Any] = change["object"]
                if change["type"] != "DELETED" and is_met(found):
                    return found
            pytest.fail(f"the watch of {' '.join(target)} ended: {watch.stderr.read()}")
        finally:
            watch.terminate()
