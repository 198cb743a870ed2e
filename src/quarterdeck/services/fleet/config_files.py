"""Configurations as plain files, for agents that only read a URL.

`--config=https://server/otel/config?id=edge-1&attr.env=prod` of an OpenTelemetry Collector, and
`import.http` of Alloy. A request for a file registers the collector.
"""

from collections.abc import Callable
from urllib.parse import parse_qsl

import msgspec

from quarterdeck.kit import http
from quarterdeck.services.fleet import collectors as rules
from quarterdeck.services.fleet.collectors import Collectors
from quarterdeck.services.fleet.configs import Configs
from quarterdeck.services.fleet.errors import invalid
from quarterdeck.services.fleet.reports import Reports

KINDS = {
    "/otel/config": ("COLLECTOR_TYPE_OTEL", "application/yaml"),
    "/alloy/config": ("COLLECTOR_TYPE_ALLOY", "text/plain; charset=utf-8"),
}
PREFIX = "attr."
MAX_PARAMETERS = 108


class ConfigFiles:
    """Serves configurations by URL."""

    def __init__(
        self,
        collectors: Collectors,
        configs: Configs,
        *,
        reports: Reports,
        now: Callable[[], str],
    ) -> None:
        self._collectors = collectors
        self._configs = configs
        self._reports = reports
        self._now = now

    async def get(self, request: http.Request) -> http.Response:
        """The configuration of the collector that the query names.

        Raises:
            FleetError: `invalid_argument` if the query names none, or has too many parameters.
        """
        kind, media = KINDS[request.path]
        query = _parse_query(request.query)
        identity = next((value for key, value in query if key == "id"), "")
        if not identity:
            raise invalid("the query must have id, the identity of the collector")
        attributes = {
            key.removeprefix(PREFIX): value for key, value in query if key.startswith(PREFIX)
        }
        current = self._collectors.find(identity)
        message = {"id": identity, "localAttributes": attributes}
        collector = msgspec.structs.replace(
            rules.register_collector(current, message, self._now()), collector_type=kind
        )
        if current is None:
            self._collectors.put(collector)  # refused if it is one too many
        merged, parts = self._configs.get_config(collector)
        served = rules.record_served(collector, merged.hash, parts)
        await self._reports.write(served)
        tag = f'"{merged.hash}"'
        headers = [("Content-Type", media), ("ETag", tag), ("Cache-Control", "no-cache")]
        if (request.headers.get("if-none-match") or "") == tag:
            return http.Response(304, headers, b"")
        return http.Response(200, headers, merged.content.encode())


def _parse_query(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError as error:
        raise invalid(f"the query must have at most {MAX_PARAMETERS} parameters") from error
