"""`docs/reference/compatibility.md` says what the tests say.

Run with `QUARTERDECK_UPDATE=1` to write it anew.
"""

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.compat.suites import CLIENTS, GO_SUITES, KUBECTL_KNOWN, KUBECTL_VERSION

from quarterdeck.meta import builtins
from quarterdeck.server import dispatch
from quarterdeck.server.admission.assembly import list_plugins
from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.kinds.reviews import build_review_resources
from quarterdeck.server.registry.resource import Resource

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "reference" / "compatibility.md"
SERVED_PARTS = dispatch.OBJECT_SUBRESOURCES | {"binding", "scale", "eviction", "token"}
DEFINITIONS = "customresourcedefinitions"

INTRODUCTION = """# Compatibility with Kubernetes

What the embedded API server answers as Kubernetes v1.32.4 does, what it only pretends, and what it
refuses. This page is written by `tests/integration/server/test_compatibility.py`
(`QUARTERDECK_UPDATE=1 pytest …` writes it anew) and fails that test where it is not true.
"""
SUITES = """## Outside suites
Run unmodified by `tests/compat` in `make test-full`; they are fetched, and a missing one is named.
"""
RANDOM = """## Random requests
Random valid and invalid requests go to a real kube-apiserver v1.32.10 and to this server, and every
answer is compared: status, body, warnings and headers, with uids, versions and times masked. Of one
state of the server, with seeds that were not used before (a few differences were mended after it):

| requests | same status | identical | of what Kubernetes accepts: accepted | identical |
| --- | --- | --- | --- | --- |
| 18,001 to custom resources | 99.6 % | 96.1 % | 99.9 % | 97.2 % |
| 32,001 to built-in kinds | 99.4 % | 92.6 % | 99.9 % | 95.0 % |

111 commands of kubectl 1.32 (create, apply, diff, prune, edit, wait, rollout, set, patch, replace,
describe of 16 kinds, events, auth, token, debug, delete and more) print the same and end with the
same code on both servers, but for explanations, which are in our own words and do not list the
values of an enumeration.

What was mended is held by `tests/golden/differences-v1.32.10.jsonl`. What stays different, with its
share of the requests to built-in kinds:
- Errors of JSON and merge patches that cannot be decoded quote the whole object, with the
  resourceVersion each server gave it: 2.7 %, and 1.1 % of those to custom resources. Another 0.5 %
  quote it with other members.
- Descriptions of Table columns are in our own words: 1.0 %.
- Maps and lists that are empty count as absent, so that `map[string]string{}` in a message is
  `map[string]string(nil)`, and an empty map in place of none is no change: 0.4 %. Messages that
  print structures of Go deep inside (pod templates of jobs, quantities as they were written) print
  the JSON, or the canonical quantity: 0.3 %.
- The difference between two specs of a volume or claim is left out. That of pods is there; the
  library that prints it in Kubernetes takes one of two kinds of spaces, at random for each process:
  0.4 %.
- What is stored differs after 1.0 %: a new resourceVersion where Kubernetes writes a default
  for the first time, owners after the first write through `scale` that keeps the number (Kubernetes
  notes the writer anew), and watches that its cache cannot serve yet.
- Server-side apply names one of several unknown fields, which Kubernetes picks at random: 0.2 %.
- Strategic merge patches that make kube-apiserver close the connection are answered: 0.1 %.
- Rules not checked: Windows options, annotations of seccomp and AppArmor, names of claims that
  ephemeral volumes lead to, subjects of flow schemas, queues of priority levels, most of API
  services beyond name and priorities, volume specs inside of attachments, and allocated resources
  in the status of containers. Volumes from images and trust bundles, claims of devices, resize
  policies and `hostUsers` are kept, where 1.32 drops them.
- Keys that are repeated inside a value of a JSON patch, and owners of a patched
  `deletionTimestamp`, differ. A `test` without a value is answered, where Kubernetes closes the
  connection.
- Server-side apply of null to a field of any type stores null; Kubernetes drops it when it reads
  the object again. A whole number that is sent as a float again is no change.
- Expressions say `invalid data, expected …` of a value that does not have its declared type, but
  not of a member that an expression reads. A declared list or object is not equal to a value of
  another type, where Kubernetes finds no overload if it stands on the left.
- Mutating webhooks see an updated object with the uid and version it replaces. A pod that webhooks
  refuse to let go when they see it for the second time is not marked; Kubernetes has marked it.
- A watch may resume across a restart of the server, where Kubernetes says `410 Expired`. One from
  a version that has not happened yet is answered with 504, so that its client lists again; in
  Kubernetes it stays silent until the version comes.
- Groups of custom kinds are listed in the order in which their first definition was made;
  Kubernetes lists them by name. kubectl takes the first group that has a kind of that name:
  `applications` are Quarterdeck's, also beside those of Argo CD.
"""
RELEASES = """## Releases
`quarterdeck server --kubernetes-version 1.36` is Kubernetes 1.36.3: the newest release whose
kube-apiserver can be built from published modules, so that its answers could be recorded.
`tests/golden/newest-v1.36.3.jsonl` has {count} of them (`tools/record.sh` records them again), and
discovery is the same. It serves resource claims, device classes and slices, mutating policies,
volume attributes classes, service CIDRs and IP addresses with their rules, `pods/resize`, and the
new fields of old kinds; messages show structures as JSON, as they do since 1.33. Of 3,000 random
requests to the built-in kinds that 1.32 has too, 99.5 % had the same status and 93.4 % the same
answer; of 3,000 to custom resources 99.7 % and 96.1 %.

`--kubernetes-version 1.37` serves the kinds of 1.37.2 besides, from its published types: pod
certificates, trust bundles, device taint rules and storage migrations. They follow the rules that
1.36 has for their beta versions (`tests/golden/beta-v1.36.3.jsonl`), but for what an issued
certificate must contain; all other kinds follow the rules of 1.36. No answer of a real 1.37 is
recorded.

Rules that differ by release are asked of `meta/release.py`. `pods/resize` changes the
resources of containers within quotas and limit ranges, and simulated pods take them at once; in
1.32 the gate `InPlacePodVerticalScaling` serves it, and simulated pods that run cannot be resized.
Not as in 1.36: the difference between two pod specs is printed as in 1.32, requests for admin
access to devices do not need the label on the namespace, and a default taint time has no owner.
"""
SIMULATED = """## Simulated
- Garbage collection, namespace termination, the end of definitions and the expiry of events happen
  inside the server (switch off: `--no-lifecycle`).
- With `--simulate-workloads` workloads make pods and pods become ready; nothing is executed.
- With `--controllers-without-kubelet` workloads make pods, and these stay Pending: a control plane
  that no node has joined.
- Nodes whose kubelet is not simulated become Unknown and tainted without heartbeats, in both modes.
- Resource quotas bind every write by their status, in Kubernetes' words; that status is counted
  with either of these flags, and is yours to write without.
- A CustomResourceDefinition is established by the time its creation is answered, not a moment
  later; as in Kubernetes that is a second write, and the answer shows the first.
"""
STORED = """## Stored, without effect yet
Nothing acts on these: API services of other servers, flow schemas and priority levels.
Certificate signing requests are checked, approved and denied by those who may. The server signs
those to `kubernetes.io/kube-apiserver-client`, `…-client-kubelet` and `kubelet-serving` with its
own authority; requests to other signers wait for these.

## Behind a feature gate
`--feature-gates MutatingAdmissionPolicy=true` serves MutatingAdmissionPolicies and their bindings
(`admissionregistration.k8s.io/v1alpha1`), and they change what is written.
"""
REFUSED = """## Refused
- Node authorization: kubelets are users like others, with the roles they are given.
- Client certificates that are expired, of an unknown authority or not for clients end the TLS
  handshake, also beside a good token. kube-apiserver 1.32 takes any certificate and answers with a
  401, or by the token. Python's `ssl` cannot do that: it verifies what it asks for, and has no
  callback that could let a certificate pass. The log says who was refused and why.
- The TLS handshake does not name the authorities of client certificates: Python's `ssl` cannot.
- Strategic merge patches of custom resources: 415, as in Kubernetes.
"""


def _golden() -> ModuleType:
    path = Path(__file__).with_name("test_golden.py")
    spec = importlib.util.spec_from_file_location("golden_pairs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rendered() -> str:
    golden: Any = _golden()
    missing: dict[str, str] = golden.NOT_YET
    served = [*build_builtin_resources(), *build_review_resources()]
    lines = [
        INTRODUCTION,
        "## Recorded answers",
        f"{len(golden.PAIRS) - len(missing)} of {len(golden.PAIRS)} recorded answers of a real"
        " kube-apiserver are given word for word (what differs from run to run is masked).",
    ]
    if missing:
        lines += ["The others:", *(f"- {title}: {reason}" for title, reason in missing.items())]
    lines += ["", "## Served", "| resource | kind | verbs | subresources | refused |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    lines += [_row(each) for each in sorted(served, key=lambda each: each.gvr)]
    lines += [
        f"| {DEFINITIONS}.apiextensions.k8s.io/v1 | CustomResourceDefinition | all | status | |",
        "| custom resources | any | all | status, scale | |",
    ]
    lines += [
        "",
        *_list_plugins(),
        "",
        SUITES,
        _render_suites(),
        RANDOM,
        RELEASES.format(count=_count_newest()),
        SIMULATED,
        STORED,
        REFUSED,
    ]
    absent = _absent({each.gvr for each in served})
    lines += [
        "Resources of Kubernetes that are not served:",
        *(f"- {each}" for each in absent or ["none"]),
    ]
    return "\n".join(lines) + "\n"


def _count_newest() -> int:
    pairs = Path(__file__).parents[2] / "golden" / "newest-v1.36.3.jsonl"
    return len(pairs.read_text().splitlines())


def _list_plugins() -> list[str]:
    plugins = list_plugins()
    rows = {
        "on by default": plugins.on,
        "off by default": plugins.off,
        "accepted, without effect": plugins.accepted,
        "not here; cannot be enabled": plugins.absent,
    }
    return [
        "## Admission plugins",
        "`--enable-admission-plugins` and `--disable-admission-plugins` switch them.",
        "",
        "| | plugins |",
        "| --- | --- |",
        *(f"| {what} | {', '.join(names)} |" for what, names in rows.items()),
    ]


def _render_suites() -> str:
    rows = [
        "| suite or client | packages, or where its program is | known to fail |",
        "| --- | --- | --- |",
    ]
    for suite in GO_SUITES:
        packages = ", ".join(each.strip("./") for each in suite.packages)
        known = _list_reasons(suite.known)
        rows.append(f"| {suite.name} ({suite.version}) | {packages} | {known} |")
    place = "tests/compat/kubectl"
    known = _list_reasons(KUBECTL_KNOWN)
    rows.append(f"| kubectl's command tests ({KUBECTL_VERSION}) | {place} | {known} |")
    rows += [f"| {name} | {place} | nothing |" for name, place in CLIENTS.items()]
    rows.append("| published manifests (`QUARTERDECK_COMPAT_MANIFESTS`) | | |")
    return "\n".join([*rows, ""])


def _list_reasons(known: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in known.items()) or "nothing"


def _row(resource: Resource) -> str:
    verbs = "all" if len(resource.verbs) >= 7 else ", ".join(resource.verbs)
    parts = sorted(resource.subresources)
    served = ", ".join(part for part in parts if part in SERVED_PARTS)
    refused = ", ".join(part for part in parts if part not in SERVED_PARTS)
    name = f"{resource.gvr.resource}.{resource.api_version}"
    return f"| {name} | {resource.kind} | {verbs} | {served} | {refused} |".replace("  ", " ")


def _absent(served: set[Any]) -> list[str]:
    return [
        f"{each.gvr.resource}.{each.gvr.api_version}"
        for each in builtins.list_resources()
        if each.gvr not in served and each.gvr.resource != DEFINITIONS
    ]


def test_page_says_what_the_tests_say() -> None:
    text = rendered()
    if os.environ.get("QUARTERDECK_UPDATE"):
        DOCUMENT.write_text(text)
    assert DOCUMENT.read_text() == text
