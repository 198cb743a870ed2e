"""The RPCs that agents call: registering, leaving, and polling for their configuration."""

from collections.abc import Callable, Mapping

import msgspec

from quarterdeck.services.fleet import collectors as rules
from quarterdeck.services.fleet.collectors import Collectors
from quarterdeck.services.fleet.configs import Configs
from quarterdeck.services.fleet.records import Collector
from quarterdeck.services.fleet.reports import Reports
from quarterdeck.services.fleet.requests import Call, Message, get_text


class AgentCalls:
    """Answers the RPCs of agents, one method per RPC."""

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

    def list_calls(self) -> Mapping[str, Call]:
        """The methods by the names of their RPCs."""
        return {
            "GetConfig": self.get_config,
            "RegisterCollector": self.register,
            "UnregisterCollector": self.unregister,
        }

    async def register(self, request: Message) -> Message:
        """`RegisterCollector`: register an agent."""
        current = self._collectors.find(get_text(request, "id"))
        await self._reports.write(
            rules.register_collector(current, {"name": "", **request}, self._now())
        )
        return {}

    async def unregister(self, request: Message) -> Message:
        """`UnregisterCollector`: mark an agent as inactive; it may be restarting."""
        current = self._collectors.find(get_text(request, "id"))
        if current is not None:
            marked = msgspec.structs.replace(current, marked_inactive_at=self._now())
            await self._reports.write(marked)
        return {}

    async def get_config(self, request: Message) -> Message:
        """`GetConfig`: the configuration of an agent, unless it has it already.

        An unknown collector is registered by its poll. Its record is complete before it is stored:
        what others set while that waits for the disk must stay.
        """
        current = self._collectors.find(get_text(request, "id"))
        if current is None:
            collector = rules.register_collector(None, request, self._now())
            self._collectors.put(collector)  # refused if it is one too many
        else:
            collector = rules.record_poll(current, request, self._now())
        merged, parts = self._configs.get_config(collector)
        if collector.served_hash != merged.hash or collector.served != parts:
            collector = rules.record_served(collector, merged.hash, parts)
        await self._store(collector, is_new=current is None)
        if request.get("hash") == merged.hash:
            return {"hash": merged.hash, "notModified": True}
        return {"content": merged.content, "hash": merged.hash}

    async def _store(self, collector: Collector, *, is_new: bool) -> None:
        """Store the record of a poll; a registration is on disk before it is answered."""
        if is_new:
            await self._reports.write(collector)
        else:
            self._reports.add(collector)
