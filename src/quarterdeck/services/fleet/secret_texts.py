"""Finds the collectors whose error messages may quote contents of a Secret.

An operator marks such contents in a pipeline's metadata. A collector reports on its whole
configuration, so its message may quote each text that it was served, and is shown with every
pipeline that it runs.
"""

from collections.abc import Iterator, Mapping

from quarterdeck.services.fleet import candidates
from quarterdeck.services.fleet.pipelines import Pipelines
from quarterdeck.services.fleet.records import Collector, Pipeline
from quarterdeck.telemetry.candidates import digest_contents

MEMBER = "quarterdeck-secret"
"""Member of a pipeline's metadata: true if its contents come from a Secret."""
CANDIDATE_MEMBER = "secret"
"""The same for the candidate of a rollout, as a member of the candidate."""
HIDDEN_MESSAGE = "its message is hidden, because it may contain text of a Secret"


class SecretTexts:
    """The texts of pipelines that come from Secrets: current ones, and those of revisions."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._pipelines = pipelines
        self._generation = 0
        self._known: dict[str, bool] = {}

    def get_message(self, collector: Collector) -> str:
        """The error message of a collector, hidden if it may quote contents of a Secret."""
        if collector.error_message and any(map(self._is_secret, collector.served)):
            return HIDDEN_MESSAGE
        return collector.error_message

    def _is_secret(self, part: str) -> bool:
        """Whether a text comes from a Secret, by the pipeline's id and the digest of the text."""
        if self._generation != self._pipelines.generation:
            self._generation = self._pipelines.generation
            self._known.clear()
        if part not in self._known:
            self._known[part] = self._look_up(part)
        return self._known[part]

    def _look_up(self, part: str) -> bool:
        """The newest mark of a text; one whose mark is not known any more counts as secret."""
        identity, _, digest = part.partition(":")
        current = self._pipelines.find(identity)
        revisions = reversed(self._pipelines.list_revisions(identity))
        for pipeline in filter(None, (current, *(each.snapshot for each in revisions))):
            for text, is_secret in _list_texts(pipeline):
                if digest_contents(text) == digest:
                    return is_secret
        return True


def _list_texts(pipeline: Pipeline) -> Iterator[tuple[str, bool]]:
    """The contents of a pipeline and its candidate, and whether they come from a Secret."""
    metadata = pipeline.metadata or {}
    yield pipeline.contents, metadata.get(MEMBER) is True
    candidate = metadata.get(candidates.MEMBER)
    if isinstance(candidate, Mapping):
        yield str(candidate.get("contents") or ""), candidate.get(CANDIDATE_MEMBER) is True
