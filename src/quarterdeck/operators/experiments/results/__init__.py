"""Results of a run: metrics, the verdict on the hypothesis, cost, where they are kept, comparison.

Imports `apis`, `meta`, `kit` and the operator's `ports`; the drivers that talk to metrics stores
and object storage are in `operators.experiments.drivers`. Start at `collector` (the order of
things), then `verdict`, `gate` and `comparison`, which decide and are pure.
"""

from quarterdeck.operators.experiments.results.collector import Collector
from quarterdeck.operators.experiments.results.document import Result, decode, encode

__all__ = ["Collector", "Result", "decode", "encode"]
