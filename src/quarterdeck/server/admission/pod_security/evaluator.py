"""Which checks a pod fails at a level. Pure."""

from collections.abc import Callable, Iterator

from quarterdeck.server.admission.pod_security import baseline, restricted
from quarterdeck.server.admission.pod_security.levels import Level, LevelVersion
from quarterdeck.server.admission.pod_security.pod import Pod, Violation

Check = Callable[[Pod, int], Iterator[Violation]]
LATEST = 32
"""The newest release whose definition of the levels is known."""

_BASELINE: tuple[Check, ...] = (
    baseline.check_app_armor,
    baseline.check_capabilities,
    baseline.check_host_namespaces,
    baseline.check_host_paths,
    baseline.check_host_ports,
    baseline.check_privileged,
    baseline.check_proc_mount,
    baseline.check_selinux,
    baseline.check_seccomp,
    baseline.check_sysctls,
    baseline.check_host_process,
)
_OVERRIDDEN = frozenset(
    (baseline.check_capabilities, baseline.check_host_paths, baseline.check_seccomp)
)
"""Checks of `baseline` whose place a stricter one takes."""
_RESTRICTED: tuple[Check, ...] = (
    *(check for check in _BASELINE if check not in _OVERRIDDEN),
    restricted.check_escalation,
    restricted.check_capabilities,
    restricted.check_volumes,
    restricted.check_non_root,
    restricted.check_user,
    restricted.check_seccomp,
)
_CHECKS: dict[Level, tuple[Check, ...]] = {
    Level.PRIVILEGED: (),
    Level.BASELINE: _BASELINE,
    Level.RESTRICTED: _RESTRICTED,
}


def find_violations(pod: Pod, wanted: LevelVersion) -> list[Violation]:
    """The checks of a level that a pod fails."""
    minor = LATEST if wanted.minor is None else min(wanted.minor, LATEST)
    return [violation for check in _CHECKS[wanted.level] for violation in check(pod, minor)]
