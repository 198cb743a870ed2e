"""Identities of requests: each is another UUID, and one that a proxy gave is kept."""

import random
import uuid

from quarterdeck.kit import http
from quarterdeck.server.filters.audit_id import _SERIES, AuditIds


def test_every_request_gets_a_uuid_of_its_own() -> None:
    ids = AuditIds(random.Random(1))
    request = http.Request.of("GET", "/")
    given = [ids.get(request) for _ in range(3 * _SERIES + 1)]
    assert len(set(given)) == len(given)
    assert {uuid.UUID(each).version for each in given} == {4}
    assert all(str(uuid.UUID(each)) == each for each in given)
    assert len({each[:24] for each in given}) == 4


def test_an_identity_that_was_given_is_kept() -> None:
    ids = AuditIds(random.Random(1))
    assert ids.get(http.Request.of("GET", "/", headers=[("Audit-ID", "mine")])) == "mine"
    assert ids.get(http.Request.of("GET", "/", headers=[("Audit-ID", "x" * 300)])) != "x" * 300
