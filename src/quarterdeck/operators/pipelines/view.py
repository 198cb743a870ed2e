"""The cached pipelines of one server: the last listing, and our own writes since. Pure.

A listing that was requested before a write and arrives after it must not undo the write, so the
time of each write is kept.
"""

from collections.abc import Iterable, Sequence

from quarterdeck.operators.pipelines.ports import Remote, RemoteRevision


class View:
    """The pipelines of a server, by id, by name and by owner."""

    def __init__(self) -> None:
        self._by_id: dict[str, Remote] = {}
        self._written: dict[str, float] = {}
        self._removed: dict[str, float] = {}
        self._names: dict[str, str] = {}
        self._owners: dict[str, dict[str, None]] = {}
        self._answers: dict[str, Remote] = {}
        self._revisions: dict[str, str] = {}
        self._history: dict[str, list[RemoteRevision]] = {}
        self.has_news = False
        """Whether something changed since the revisions were last read."""
        self.is_complete = False
        """Whether the server was listed at least once."""

    def get(self, identity: str) -> Remote | None:
        """The pipeline of an id."""
        return self._by_id.get(identity)

    def find_by_name(self, name: str) -> Remote | None:
        """The pipeline of a name."""
        return self._by_id.get(self._names.get(name, ""))

    def list_owned_by(self, uid: str) -> list[Remote]:
        """The pipelines that were written for an object; several if a response was lost."""
        return [self._by_id[identity] for identity in self._owners.get(uid, ())]

    def list_owners(self, identities: Iterable[str]) -> frozenset[str]:
        """The owners of some pipelines."""
        known = (self._by_id.get(identity) for identity in identities)
        return frozenset(remote.owner for remote in known if remote is not None)

    def get_answer(self, identity: str) -> Remote | None:
        """The response to our last write of a pipeline, with the server's formatting."""
        return self._answers.get(identity)

    def get_revision(self, identity: str) -> str:
        """The newest revision of a pipeline; empty if it is not known."""
        return self._revisions.get(identity, "")

    def get_history(self, identity: str) -> Sequence[RemoteRevision]:
        """The known revisions of a pipeline without contents, oldest first."""
        return self._history.get(identity, ())

    def record_revisions(self, revisions: Sequence[RemoteRevision]) -> frozenset[str]:
        """Replace all revisions, oldest first; returns the ids of pipelines whose history grew."""
        history: dict[str, list[RemoteRevision]] = {}
        for revision in revisions:
            if revision.snapshot.id and revision.id:
                history.setdefault(revision.snapshot.id, []).append(revision)
        newest = {identity: listed[-1].id for identity, listed in history.items()}
        before = {identity: listed[-1].id for identity, listed in self._history.items()}
        self._revisions, self._history = newest, history
        self.has_news = False
        return frozenset(id_ for id_, each in newest.items() if before.get(id_) != each)

    def record_history(self, identity: str, revisions: Sequence[RemoteRevision]) -> None:
        """Record the revisions of one pipeline, oldest first, without their contents."""
        known = [
            each._replace(snapshot=each.snapshot._replace(id=identity, contents=""))
            for each in revisions
            if each.id
        ]
        if known:
            self._history[identity] = known
            self._revisions[identity] = known[-1].id

    def record_write(self, remote: Remote, at: float) -> None:
        """Record the response to our write of a pipeline."""
        self._forget(remote.id)
        self._put(remote)
        self._answers[remote.id] = remote
        self._revisions.pop(remote.id, None)
        self.has_news = True
        self._written[remote.id] = at
        self._removed.pop(remote.id, None)

    def record_removal(self, identity: str, at: float) -> None:
        """Record that we deleted a pipeline."""
        self._forget(identity)
        self._answers.pop(identity, None)
        self._removed[identity] = at

    def record_list(self, pipelines: Iterable[Remote], asked_at: float) -> frozenset[str]:
        """Replace the pipelines by a listing; returns the ids that were added, gone or changed."""
        newer = {id_ for id_, at in self._written.items() if at >= asked_at}
        gone = {id_ for id_, at in self._removed.items() if at >= asked_at}
        before = self._by_id
        kept = [before[identity] for identity in newer if identity in before]
        self._by_id, self._names, self._owners = {}, {}, {}
        for remote in pipelines:
            if remote.id not in newer and remote.id not in gone:
                self._put(remote)
        for remote in kept:
            self._put(remote)
        self._written = {id_: at for id_, at in self._written.items() if id_ in newer}
        self._removed = {id_: at for id_, at in self._removed.items() if id_ in gone}
        is_first, self.is_complete = not self.is_complete, True
        ids = before.keys() | self._by_id.keys()
        changed = frozenset(
            each for each in ids if is_first or before.get(each) != self._by_id.get(each)
        )
        self.has_news = self.has_news or bool(changed)
        return changed

    def _put(self, remote: Remote) -> None:
        self._by_id[remote.id] = remote
        self._names[remote.name] = remote.id
        if remote.owner:
            self._owners.setdefault(remote.owner, {})[remote.id] = None

    def _forget(self, identity: str) -> None:
        old = self._by_id.pop(identity, None)
        if old is None:
            return
        if self._names.get(old.name) == identity:
            del self._names[old.name]
        self._owners.get(old.owner, {}).pop(identity, None)
