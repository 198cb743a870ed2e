"""The modules of the test machine are loaded in an order that the kernel's package gives."""

import pytest
from vm_image.initramfs import list_dependencies, sort_modules


def describe(*needed: str) -> bytes:
    """The part of a module file that names its dependencies."""
    return b"\x7fELF\0license=GPL\0depends=" + ",".join(needed).encode() + b"\0name=any\0"


def test_a_module_comes_after_those_it_depends_on() -> None:
    modules = {
        "virtio": describe("virtio_ring"),
        "virtio_blk": describe("virtio", "virtio_ring"),
        "virtio_ring": describe(),
        "unused": describe("virtio"),
    }
    order = sort_modules(modules, ["virtio_blk", "virtio_ring"])
    assert list(order) == ["virtio_ring", "virtio", "virtio_blk"]
    assert order["virtio"] == modules["virtio"]


def test_a_module_built_into_the_kernel_is_left_out() -> None:
    modules = {"virtio_net": describe("failover")}
    assert list(sort_modules(modules, ["virtio_net", "virtio_pci"])) == ["virtio_net"]


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        pytest.param(describe("tpm-tis", "ccp"), ["tpm_tis", "ccp"], id="dashes are underscores"),
        pytest.param(b"\0depends=\0", [], id="none"),
        pytest.param(b"\x7fELF", [], id="no description"),
    ],
)
def test_dependencies_are_read_from_the_module(module: bytes, expected: list[str]) -> None:
    assert list_dependencies(module) == expected
