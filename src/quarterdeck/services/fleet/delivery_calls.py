"""The RPCs about deliveries: what collectors report. Only this server has them."""

from collections.abc import Callable, Mapping
from datetime import datetime

from quarterdeck.services.fleet.collectors import Collectors
from quarterdeck.services.fleet.configs import Configs
from quarterdeck.services.fleet.deliveries import count_deliveries, find_conflicts, is_inactive
from quarterdeck.services.fleet.pipelines import Pipelines
from quarterdeck.services.fleet.requests import Call, Message
from quarterdeck.services.fleet.secret_texts import SecretTexts


class DeliveryCalls:
    """Answers the RPCs about deliveries, one method per RPC."""

    def __init__(
        self,
        pipelines: Pipelines,
        collectors: Collectors,
        configs: Configs,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._pipelines = pipelines
        self._collectors = collectors
        self._configs = configs
        self._secrets = SecretTexts(pipelines)
        self._now = now

    def list_calls(self) -> Mapping[str, Call]:
        """The methods by the names of their RPCs."""
        return {
            "ListDeliveries": self._list_deliveries,
            "ListCollectorStates": self._list_collector_states,
        }

    async def _list_deliveries(self, request: Message) -> Message:
        collectors = self._collectors.list_all()
        counts = count_deliveries(collectors, self._configs, self._now(), secrets=self._secrets)
        conflicts = find_conflicts(collectors, self._configs)
        found = [
            {
                "id": pipeline.id,
                "parts": [
                    {"digest": digest, **each}
                    for digest, each in sorted(counts.get(pipeline.id, {}).items())
                ],
                "conflicts": sorted(conflicts.get(pipeline.name, ())),
            }
            for pipeline in self._pipelines.list_all()
        ]
        return {"pipelines": found, "canRollOut": True}

    async def _list_collector_states(self, request: Message) -> Message:
        now = self._now()
        return {
            "collectors": [
                {
                    "id": each.id,
                    "lastSeen": each.last_seen or None,
                    "status": "STALE" if is_inactive(each, now) else each.status,
                    "errorMessage": self._secrets.get_message(each)
                    if each.status == "FAILED"
                    else "",
                    "pipelines": [one.name for one in self._configs.list_matching(each)],
                    "servedHash": each.served_hash,
                }
                for each in self._collectors.list_all()
            ]
        }
