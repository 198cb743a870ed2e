"""`events.k8s.io/v1`: the newer Event, the one recorders write."""

from quarterdeck.apis.core.events import EventSource
from quarterdeck.apis.core.references import ObjectReference
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import Int32, MicroTime, Time
from quarterdeck.meta.objects import Object, Struct


class EventSeries(Struct, frozen=True, kw_only=True):
    """How often it happened in a row."""

    count: Int32
    last_observed_time: MicroTime


class Event(Object, frozen=True, kw_only=True):
    """Something that happened to an object."""

    KIND = KindInfo(
        group="events.k8s.io",
        version="v1",
        kind="Event",
        plural="events",
        singular="event",
        short_names=("ev",),
        subresource_status=False,
    )
    event_time: MicroTime | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
    deprecated_source: EventSource | None = None
    deprecated_first_timestamp: Time | None = None
    deprecated_last_timestamp: Time | None = None
    deprecated_count: Int32 = 0


KINDS: tuple[type[Object], ...] = (Event,)
