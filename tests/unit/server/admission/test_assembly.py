"""Which admission plugins run, as the flags of kube-apiserver choose them."""

import random

import pytest

from quarterdeck.server.admission.assembly import build_plugins, choose_plugins
from quarterdeck.storage import open_memory


async def test_default_plugins_come_in_the_order_of_kubernetes() -> None:
    store = open_memory()
    found = build_plugins(choose_plugins((), ()), store, random.Random(1))
    assert [type(plugin).__name__ for plugin in found] == [
        "NamespaceLifecycle",
        "LimitRanger",
        "ServiceAccount",
        "TaintNodesByCondition",
        "PodSecurity",
        "Priority",
        "DefaultTolerationSeconds",
        "StorageObjectInUseProtection",
        "RuntimeClass",
        "DefaultIngressClass",
        "DefaultStorageClass",
    ]


def test_disabled_plugin_is_left_out() -> None:
    assert "LimitRanger" not in choose_plugins((), ("LimitRanger",))
    assert "ValidatingAdmissionWebhook" not in choose_plugins((), ("ValidatingAdmissionWebhook",))


def test_plugin_that_is_off_can_be_enabled() -> None:
    assert "AlwaysPullImages" not in choose_plugins((), ())
    assert "AlwaysPullImages" in choose_plugins(("AlwaysPullImages",), ())


def test_disabling_a_plugin_that_is_not_there_changes_nothing() -> None:
    assert choose_plugins((), ("ImagePolicyWebhook",)) == choose_plugins((), ())


@pytest.mark.parametrize(
    ("enabled", "disabled", "text"),
    [
        pytest.param(("Nope",), (), 'enable-admission-plugins plugin "Nope" is unknown', id="?"),
        pytest.param((), ("Nope",), 'disable-admission-plugins plugin "Nope" is unknown', id="??"),
        pytest.param(("Priority",), ("Priority",), "Priority is in both", id="both"),
        pytest.param(("ImagePolicyWebhook",), (), "is not supported by this server", id="absent"),
    ],
)
def test_wrong_choice_is_explained(
    enabled: tuple[str, ...], disabled: tuple[str, ...], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        choose_plugins(enabled, disabled)


@pytest.mark.parametrize(
    "name", ["CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction"]
)
def test_checks_of_certificates_can_be_switched_off(name: str) -> None:
    assert name in choose_plugins((), ())
    assert name not in choose_plugins((), (name,))
