"""The same commands against a real kube-apiserver: everything kubectl prints must be the same.

Needs KUBE_APISERVER and ETCD, the paths of the two programs. Both servers run without controllers.
What differs from run to run is masked; what differs for a reason is listed, with the reason.
"""

import difflib
import itertools
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.peers import api_servers

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

HERE = Path(__file__).parent / "same"
PROSE = "descriptions and enumerations are not part of the table of kinds"
PATCHED = "a patch that does not fit names the field; Kubernetes prints the whole object"
KNOWN = {
    "explain widget": PROSE,
    "explain pods --recursive": PROSE,
    "explain deploy.spec.replicas --output=plaintext-openapiv2": PROSE,
    'patch deploy app -p \'{"spec":{"replicas":"x"}}\'': PATCHED,
    'patch cm applied --type=merge -p \'{"data":"x"}\'': PATCHED,
    "apply -f widget-unknown.yaml": PATCHED,
}
MASKS = [
    (re.compile(pattern), mask)
    for pattern, mask in (
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC", "<time>"),
        (r"\w{3}, \d\d \w{3} \d{4} [\d:]+ \+0000", "<time>"),
        (r"[0-9a-f]{8}-[0-9a-f-]{27}", "<uid>"),
        (r'resourceVersion: "\d+"', "<version>"),
        (r"\b\d+(s|m|m\d+s)\b", "<age>"),
        (r"\b10\.\d+\.\d+\.\d+(/\d+)?", "<address>"),
        (r"\b3[0-2]\d{3}\b", "<node port>"),
        (r"Context \"\w+\"", "Context"),
        (r"  +", "  "),
    )
]
RESOURCE_ERROR = re.compile(r"(\* .*\.(?:limits|requests))\[(\w+)\]: ")


def masked(text: str) -> list[str]:
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    lines = [line for line in text.splitlines() if line.strip()]
    return [each for _, group in itertools.groupby(lines, field_of) for each in sort_errors(group)]


def field_of(line: str) -> str:
    """The list of resources that an error line is about; empty for all other lines."""
    found = RESOURCE_ERROR.match(line)
    return found[1] if found else ""


def sort_errors(lines: Iterable[str]) -> list[str]:
    """Sort errors by the name of the resource: Kubernetes checks resources in random order."""
    return sorted(lines, key=lambda line: found[2] if (found := RESOURCE_ERROR.match(line)) else "")


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a real server."""
    programs = [os.environ.get(name, "") for name in ("KUBE_APISERVER", "ETCD")]
    if not all(programs):
        pytest.skip("KUBE_APISERVER and ETCD name no programs")
    folder = tmp_path / "real"
    folder.mkdir()
    server = api_servers.start_kubernetes(folder, *programs)
    try:
        yield server.kubeconfig
    finally:
        server.close()


@pytest.fixture
def ours(serve: Any, tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of our server, as bare as the other one."""
    folder = tmp_path / "ours"
    folder.mkdir()
    with serve(folder, "--no-lifecycle") as kubeconfig:
        yield kubeconfig


def test_kubectl_prints_the_same_for_both_servers(real: Path, ours: Path, session: Any) -> None:
    both = [session(kubeconfig, HERE) for kubeconfig in (real, ours)]
    differences: dict[str, str] = {}
    for line in (HERE / "commands.txt").read_text().splitlines():
        printed = [masked(each.everything(*shlex.split(line))) for each in both]
        if printed[0] != printed[1]:
            diff = difflib.unified_diff(
                printed[0], printed[1], "Kubernetes", "ours", lineterm="", n=1
            )
            differences[line] = "\n".join(diff)
    surprises = {line: text for line, text in differences.items() if line not in KNOWN}
    assert not surprises, "\n".join(f"$ kubectl {a}\n{b}" for a, b in surprises.items())
    assert set(KNOWN) == set(differences), "what is the same now is not to be listed"
