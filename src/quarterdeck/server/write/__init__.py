"""Writes of objects by requests: `create`, `update` and `delete`.

There is no await between reading an object and deciding its new state, so two writers never decide
on the same state. Only asynchronous admission plugins (webhooks) and large objects need one; after
a conflict the write is decided again. The response is sent after the commit.
"""

from quarterdeck.server.write.change import check_absent_uid, check_resource_version, update
from quarterdeck.server.write.creation import build_terminating, create, refuses_applied_objects
from quarterdeck.server.write.deletion import delete
from quarterdeck.server.write.result import (
    MODIFIED,
    Change,
    WriteOptions,
    WriteResult,
    build_conflict,
    build_not_found,
    get_current,
)

__all__ = [
    "MODIFIED",
    "Change",
    "WriteOptions",
    "WriteResult",
    "build_conflict",
    "build_not_found",
    "build_terminating",
    "check_absent_uid",
    "check_resource_version",
    "create",
    "delete",
    "get_current",
    "refuses_applied_objects",
    "update",
]
