"""Error messages of collectors are hidden if what they were served comes from a Secret."""

from typing import Any

import pytest

from quarterdeck.services.fleet.pipelines import Pipelines
from quarterdeck.services.fleet.records import Collector
from quarterdeck.services.fleet.secret_texts import HIDDEN_MESSAGE, SecretTexts
from quarterdeck.telemetry import contents
from quarterdeck.telemetry.candidates import digest_contents
from quarterdeck.telemetry.findings import Finding

NOW = "2026-01-01T00:00:00Z"
OLD, NEW = 'loki.write "old" {\n}\n', 'loki.write "new" {\n}\n'
SECRET = {"quarterdeck-secret": True}


def store(pipelines: Pipelines, contents: str, metadata: dict[str, Any] | None = None) -> None:
    message = {"name": "web", "contents": contents, "metadata": metadata}
    pipelines.store(pipelines.plan_upsert(message, NOW), NOW)


def get_message(secrets: SecretTexts, *texts: str) -> str:
    served = tuple(f"1:{digest_contents(each)}" for each in texts)
    return secrets.get_message(Collector(id="a", served=served, error_message="bad line"))


def test_messages_are_hidden_by_the_mark_of_the_text_that_was_served() -> None:
    pipelines = Pipelines((), ())
    secrets = SecretTexts(pipelines)
    store(pipelines, OLD, SECRET)
    assert get_message(secrets, OLD) == HIDDEN_MESSAGE
    store(pipelines, NEW)
    assert get_message(secrets, NEW) == get_message(secrets) == "bad line"
    assert get_message(secrets, OLD) == get_message(secrets, NEW, OLD) == HIDDEN_MESSAGE
    pipelines.remove("1", NOW)
    assert get_message(secrets, OLD) == HIDDEN_MESSAGE
    assert get_message(secrets, NEW) == "bad line"


def test_text_that_is_public_by_now_hides_nothing() -> None:
    pipelines = Pipelines((), ())
    store(pipelines, OLD, SECRET)
    store(pipelines, OLD)
    assert get_message(SecretTexts(pipelines), OLD) == "bad line"


@pytest.mark.parametrize(
    ("mark", "message"), [({"secret": True}, HIDDEN_MESSAGE), ({}, "bad line")]
)
def test_candidate_has_a_mark_of_its_own(mark: dict[str, Any], message: str) -> None:
    pipelines = Pipelines((), ())
    store(pipelines, OLD, {"quarterdeck-rollout": {"contents": NEW, **mark}})
    secrets = SecretTexts(pipelines)
    assert get_message(secrets, NEW) == message
    assert get_message(secrets, OLD) == "bad line"


def test_text_that_is_not_known_any_more_counts_as_secret() -> None:
    assert get_message(SecretTexts(Pipelines((), ())), OLD) == HIDDEN_MESSAGE


def test_search_for_a_text_parses_no_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    pipelines = Pipelines((), ())
    for number in range(3):
        candidate = {"contents": f"{NEW}// {number}\n", "secret": True}
        store(pipelines, OLD, {"quarterdeck-rollout": candidate})
    for cached in (contents._check_small, contents._check_large):
        cached.cache_clear()  # as by other pipelines meanwhile
    checked: list[str] = []

    def note(text: str, config_type: contents.ConfigType) -> list[Finding]:
        checked.append(text)
        return []

    monkeypatch.setattr(contents, "_check", note)
    assert get_message(SecretTexts(pipelines), f"{NEW}// 0\n") == HIDDEN_MESSAGE
    assert checked == []
