"""What `status.fieldValidation` says: every field, computed field and aggregation, judged."""

from quarterdeck.apis.clusterpulse.metric_source import FieldValidation, MetricSourceSpec
from quarterdeck.engine.collector import Collector


def validate_fields(
    spec: MetricSourceSpec, collectors: tuple[Collector, ...] = ()
) -> tuple[FieldValidation, ...]:
    """Judge a spec as far as it goes alone, and by what collections of it have found.

    With collectors, a field that no object had is a warning.
    """
    raise NotImplementedError("the engine cannot validate a MetricSource yet")
