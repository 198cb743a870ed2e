"""The management RPCs about collectors: list, change and delete them."""

from collections.abc import Callable, Mapping

from quarterdeck.services.fleet import collectors as rules
from quarterdeck.services.fleet.collectors import Collectors
from quarterdeck.services.fleet.configs import Configs
from quarterdeck.services.fleet.errors import FleetError
from quarterdeck.services.fleet.persistence import Persistence, settle
from quarterdeck.services.fleet.records import Collector
from quarterdeck.services.fleet.requests import Call, Message, get_text, list_identities
from quarterdeck.telemetry.fleet.codes import Code


class CollectorCalls:
    """Answers the management RPCs about collectors, one method per RPC."""

    def __init__(
        self,
        collectors: Collectors,
        configs: Configs,
        *,
        disk: Persistence,
        now: Callable[[], str],
    ) -> None:
        self._collectors = collectors
        self._configs = configs
        self._disk = disk
        self._now = now

    def list_calls(self) -> Mapping[str, Call]:
        """The methods by the names of their RPCs."""
        return {
            "GetCollector": self._get_collector,
            "ListCollectors": self._list_collectors,
            "ListCollectorAttributes": self._list_attributes,
            "CreateCollector": self._create_collector,
            "UpdateCollector": self._update_collector,
            "BulkUpdateCollectors": self._bulk_update_collectors,
            "DeleteCollector": self._delete_collector,
            "BulkDeleteCollectors": self._bulk_delete_collectors,
        }

    async def _get_collector(self, request: Message) -> Message:
        return self._collectors.get(get_text(request, "id")).to_message()

    async def _list_collectors(self, request: Message) -> Message:
        found = self._collectors.list(request.get("matchers") or ())
        return {"collectors": [each.to_message() for each in found]}

    async def _list_attributes(self, request: Message) -> Message:
        return {
            "localAttributes": self._collectors.list_attributes("local_attributes"),
            "remoteAttributes": self._collectors.list_attributes("remote_attributes"),
        }

    async def _create_collector(self, request: Message) -> Message:
        message = request.get("collector") or {}
        identity = str(message.get("id") or "")
        if self._collectors.find(identity) is not None:
            raise FleetError(Code.ALREADY_EXISTS, f"collector {identity!r} already exists")
        return await self._put(rules.update_collector(None, message, self._now()))

    async def _update_collector(self, request: Message) -> Message:
        message = request.get("collector") or {}
        current = self._collectors.get(str(message.get("id") or ""))
        return await self._put(rules.update_collector(current, message, self._now()))

    async def _bulk_update_collectors(self, request: Message) -> Message:
        """Update all collectors or none: all operations are checked before anything is stored."""
        now = self._now()
        operations = request.get("ops") or ()
        planned = [
            rules.apply_operations(self._collectors.get(identity), operations, now)
            for identity in list_identities(request)
        ]
        for collector in planned:
            self._collectors.put(collector)
            self._collectors.announce(collector.id)
        await settle([self._disk.put_collector(each) for each in planned])
        return {}

    async def _delete_collector(self, request: Message) -> Message:
        await self.remove_collectors([get_text(request, "id")])
        return {}

    async def _bulk_delete_collectors(self, request: Message) -> Message:
        await self.remove_collectors(list_identities(request))
        return {}

    async def remove_collectors(self, doomed: list[str]) -> None:
        """Delete collectors, all or none. Raises `not_found`."""
        for identity in doomed:
            self._collectors.get(identity)
        for identity in doomed:
            self._collectors.remove(identity)
            self._configs.forget(identity)
        await settle([self._disk.delete_collector(identity) for identity in doomed])

    async def _put(self, collector: Collector) -> Message:
        self._collectors.put(collector)
        self._collectors.announce(collector.id)
        await settle([self._disk.put_collector(collector)])
        return collector.to_message()
