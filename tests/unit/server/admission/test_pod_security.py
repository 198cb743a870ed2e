"""Pod Security Standards: the checks the recorded answers do not show."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.admission.pod_security.evaluator import find_violations
from quarterdeck.server.admission.pod_security.levels import Level, LevelVersion, parse_labels
from quarterdeck.server.admission.pod_security.pod import Pod

PREFIX = "pod-security.kubernetes.io/"


def check(level: Level, spec: dict[str, Any], minor: int | None = None, **annotations: str) -> str:
    pod = Pod({"containers": [{"name": "c"}], **spec}, annotations)
    return ", ".join(map(str, find_violations(pod, LevelVersion(level, minor))))


def container(**context: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "securityContext": context}]}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param(
            container(privileged=True),
            'privileged (container "c" must not set securityContext.privileged=true)',
            id="privileged",
        ),
        pytest.param(
            container(procMount="Unmasked"),
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
            id="unmasked processes",
        ),
        pytest.param(
            {"securityContext": {"seLinuxOptions": {"type": "spc_t", "user": "u"}}},
            "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type"
            ' "spc_t"; user may not be set)',
            id="SELinux",
        ),
        pytest.param(
            {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}},
            "forbidden sysctls (kernel.msgmax)",
            id="kernel settings",
        ),
        pytest.param(
            {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
            'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
            id="no seccomp",
        ),
        pytest.param(
            {"securityContext": {"windowsOptions": {"hostProcess": True}}},
            "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
            id="host process",
        ),
        pytest.param(
            container(appArmorProfile={"type": "Unconfined"}),
            'forbidden AppArmor profile (container "c" must not set AppArmor profile type to'
            ' "Unconfined")',
            id="no AppArmor",
        ),
    ],
)
def test_baseline_names_what_is_forbidden(spec: dict[str, Any], text: str) -> None:
    assert check(Level.BASELINE, spec) == text


def test_harmless_pod_passes_baseline() -> None:
    assert check(Level.BASELINE, {}) == ""


def test_restricted_names_volume_types_and_root() -> None:
    good = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
        "runAsNonRoot": True,
        "runAsUser": 0,
    }
    volumes = [{"name": "n", "nfs": {}}, {"name": "e", "emptyDir": {}}]
    found = check(Level.RESTRICTED, {**container(**good), "volumes": volumes})
    assert found == (
        'restricted volume types (volume "n" uses restricted volume type "nfs"),'
        ' runAsUser=0 (container "c" must not set runAsUser=0)'
    )


def test_windows_pods_are_free_of_linux_rules() -> None:
    windows = {"os": {"name": "windows"}, "securityContext": {"runAsNonRoot": True}}
    assert check(Level.RESTRICTED, windows) == ""
    assert check(Level.RESTRICTED, windows, 24) != ""


def test_older_versions_know_fewer_safe_settings() -> None:
    spec = {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]}}
    assert check(Level.BASELINE, spec, 31) == "forbidden sysctls (net.ipv4.tcp_rmem)"
    assert check(Level.BASELINE, spec, 32) == ""
    assert check(Level.BASELINE, spec, 99) == ""


def test_labels_that_mean_nothing_are_strict_for_enforce_only() -> None:
    policy = parse_labels({f"{PREFIX}enforce": "tight", f"{PREFIX}audit": "tight"})
    assert (policy.enforce.level, policy.audit.level) == (Level.RESTRICTED, Level.PRIVILEGED)
    assert len(policy.errors) == 2


def test_warn_follows_a_stricter_enforce_unless_it_is_set() -> None:
    assert str(parse_labels({f"{PREFIX}enforce": "baseline"}).warn) == "baseline:latest"
    labels = {f"{PREFIX}enforce": "baseline", f"{PREFIX}warn": "privileged"}
    assert parse_labels(labels).warn.level is Level.PRIVILEGED


@given(
    st.dictionaries(
        st.sampled_from(["privileged", "allowPrivilegeEscalation", "runAsNonRoot"]), st.booleans()
    ),
    st.booleans(),
)
def test_what_restricted_allows_baseline_allows(context: dict[str, bool], host: bool) -> None:
    spec = {**container(**context), "hostNetwork": host}
    if not check(Level.RESTRICTED, spec):
        assert not check(Level.BASELINE, spec)
    if check(Level.BASELINE, spec):
        assert check(Level.RESTRICTED, spec)
