"""The status that an agent reports for its configuration. Pure.

Alloy sends a status only when it differs from the one it sent before, so a poll without a status
repeats the last report. It also reports FAILED when it could not reach the server. This does not
mean that the text is bad and must not be counted so, or a restart of the server during a rollout
would quarantine a valid candidate.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.services.fleet.records import Collector
from quarterdeck.telemetry.fleet.codes import Code

APPLIED, APPLYING, FAILED = "APPLIED", "APPLYING", "FAILED"
MAX_MESSAGE = 1024
_PREFIX = "RemoteConfigStatuses_"
_UNSET = ("", "UNSET")


def read_status(current: Collector, message: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of a collector's record that follow from a poll."""
    has_it = bool(current.served_hash) and message.get("hash") == current.served_hash
    report = message.get("remoteConfigStatus")
    word = str((report or {}).get("status") or "").removeprefix(_PREFIX)
    error = str((report or {}).get("errorMessage") or "")[:MAX_MESSAGE]
    if word in _UNSET:
        forgotten = {"reported": "", "reported_error": ""} if report is not None else {}
        return {**_read_silence(current, has_it=has_it), **forgotten}
    if word == FAILED and (is_fetch_failure(error) or _is_about_another(current, message)):
        return {}
    return {"reported": word, "reported_error": error} | _build_changes(
        current, word, error, has_it=has_it
    )


def is_fetch_failure(error: str) -> bool:
    """Whether an agent failed to fetch its configuration: a Connect client names the code first."""
    return error.partition(":")[0] in set(Code)


def _read_silence(current: Collector, *, has_it: bool) -> dict[str, Any]:
    """Repeat the last report of an agent that has the text and sends no new report."""
    if not has_it or current.status != APPLYING:
        return {}
    if current.reported == FAILED:
        return {"status": FAILED, "error_message": current.reported_error}
    return _build_changes(current, APPLIED, "", has_it=True)


def _is_about_another(current: Collector, message: Mapping[str, Any]) -> bool:
    """Whether a report names a text that was served before the last one."""
    return bool(current.served_hash) and message.get("hash", "") not in ("", current.served_hash)


def _build_changes(current: Collector, word: str, error: str, *, has_it: bool) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if word != APPLIED or has_it or not current.served_hash:
        changes = {"status": word, "error_message": error}
    if word == APPLIED and has_it and current.applied != current.served:
        changes["applied"] = current.served
    return changes
