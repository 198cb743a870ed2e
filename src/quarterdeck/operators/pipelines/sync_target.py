"""The target of one sync: an object, its desired state, and the server."""

from typing import NamedTuple

from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.operators.pipelines.desired import Contents, Desired
from quarterdeck.operators.pipelines.fleet_server import Fleet
from quarterdeck.telemetry.candidates import digest_contents


class SyncTarget(NamedTuple):
    """A Pipeline, what the server should have for it, and the server."""

    pipeline: Pipeline
    desired: Desired
    contents: Contents
    fleet: Fleet

    @property
    def is_secret(self) -> bool:
        """Whether anything that is sent comes from a Secret: the contents, or a candidate."""
        return self.desired.is_secret or self.contents.is_secret

    def is_public_text(self, digest: str) -> bool:
        """Whether a digest is that of a text that is sent now, and not of one from a Secret."""
        candidate = str((self.desired.rollout or {}).get("contents", ""))
        texts = (self.desired.contents, candidate)
        return not self.is_secret and digest in map(digest_contents, texts)
