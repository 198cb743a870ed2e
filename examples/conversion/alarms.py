"""Two versions of a kind: v1 has a text `at: 07:30`, v2 an hour and a minute. v2 is stored."""

import asyncio

from quarterdeck.client import Client, load_config
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.runtime import Manager, Registration, Spoke, Webhooks


class AlarmSpecV1(Struct, frozen=True, kw_only=True):
    at: str = "00:00"


class AlarmV1(Object, frozen=True, kw_only=True):
    KIND = KindInfo(
        group="example.com",
        version="v1",
        kind="Alarm",
        plural="alarms",
        storage=False,
        deprecated=True,
        deprecation_warning="example.com/v1 Alarm is deprecated; use example.com/v2 Alarm",
    )
    spec: AlarmSpecV1 = AlarmSpecV1()


class AlarmSpec(Struct, frozen=True, kw_only=True):
    hour: int = 0
    minute: int = 0


class Alarm(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v2", kind="Alarm", plural="alarms")
    spec: AlarmSpec = AlarmSpec()


def to_hub(alarm: AlarmV1) -> Alarm:
    """v1 to v2. A ValueError is what the client reads."""
    hour, colon, minute = alarm.spec.at.partition(":")
    if not (colon and hour.isdecimal() and minute.isdecimal()):
        raise ValueError(f"spec.at: {alarm.spec.at!r} is not a time; write it as HH:MM")
    spec = AlarmSpec(hour=int(hour), minute=int(minute))
    return Alarm(metadata=alarm.metadata, spec=spec)  # labels and annotations are ours to keep


def from_hub(alarm: Alarm) -> AlarmV1:
    """v2 to v1."""
    at = f"{alarm.spec.hour:02}:{alarm.spec.minute:02}"
    return AlarmV1(metadata=alarm.metadata, spec=AlarmSpecV1(at=at))


def build_webhooks() -> Webhooks:
    """The conversion webhook; its manager writes `spec.conversion` of the definition."""
    webhooks = Webhooks(registration=Registration("alarms.example.com"))
    webhooks.convert(Alarm, Spoke(AlarmV1, to_hub, from_hub))
    return webhooks


async def main() -> None:
    async with Client(load_config()) as client:
        await Manager(client, name="alarms", webhooks=build_webhooks()).run()


if __name__ == "__main__":
    asyncio.run(main())
