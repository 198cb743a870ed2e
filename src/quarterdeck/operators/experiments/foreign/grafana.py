"""The datasource of the Grafana operator."""

from typing import Annotated

import msgspec

from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.operators.experiments.foreign.condition import OPEN


class GrafanaDatasource(Object, frozen=True, kw_only=True):
    """A datasource of the Grafana operator."""

    KIND = KindInfo(
        group="grafana.integreatly.org",
        version="v1beta1",
        kind="GrafanaDatasource",
        plural="grafanadatasources",
        singular="grafanadatasource",
    )
    spec: Annotated[msgspec.Raw, OPEN] = msgspec.Raw(b"{}")
    status: Annotated[msgspec.Raw, OPEN] = msgspec.Raw(b"{}")
