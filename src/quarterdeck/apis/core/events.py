"""The older of the two Event kinds, which `kubectl get events` shows."""

from quarterdeck.apis.core.references import ObjectReference
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import Int32, MicroTime, Time
from quarterdeck.meta.objects import Object, Struct


class EventSource(Struct, frozen=True, kw_only=True):
    """Who reports."""

    component: str = ""
    host: str = ""


class EventSeries(Struct, frozen=True, kw_only=True):
    """How often it happened in a row."""

    count: Int32 = 0
    last_observed_time: MicroTime | None = None


class Event(Object, frozen=True, kw_only=True):
    """Something that happened to an object."""

    KIND = KindInfo(
        group="",
        version="v1",
        kind="Event",
        plural="events",
        singular="event",
        short_names=("ev",),
        subresource_status=False,
    )
    involved_object: ObjectReference = ObjectReference()
    reason: str = ""
    message: str = ""
    source: EventSource = EventSource()
    first_timestamp: Time | None = None
    last_timestamp: Time | None = None
    count: Int32 = 0
    type: str = ""
    event_time: MicroTime | None = None
    series: EventSeries | None = None
    action: str = ""
    related: ObjectReference | None = None
    reporting_component: str = ""
    reporting_instance: str = ""
