import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.wire.path import ResourcePath, build, parse

words = st.from_regex(r"[a-z][a-z0-9.-]{0,12}[a-z0-9]", fullmatch=True).filter(
    lambda word: word not in ("namespaces", "watch", "status", "finalize", "proxy")
)


@given(
    group=st.one_of(st.just(""), words),
    version=words,
    resource=words,
    namespace=st.one_of(st.just(""), words),
    name=words,
    subresource=st.one_of(st.just(""), words),
)
def test_parse_reads_what_build_writes(
    group: str, version: str, resource: str, namespace: str, name: str, subresource: str
) -> None:
    path = ResourcePath(group, version, resource, namespace, name, subresource)
    assert parse(build(path)) == path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("/api/v1/pods", ResourcePath("", "v1", "pods"), id="core, all namespaces"),
        pytest.param(
            "/api/v1/namespaces", ResourcePath("", "v1", "namespaces"), id="the namespaces"
        ),
        pytest.param(
            "/api/v1/namespaces/shop",
            ResourcePath("", "v1", "namespaces", "", "shop"),
            id="one namespace",
        ),
        pytest.param(
            "/api/v1/namespaces/shop/finalize",
            ResourcePath("", "v1", "namespaces", "", "shop", "finalize"),
            id="a subresource of a namespace",
        ),
        pytest.param(
            "/api/v1/namespaces/shop/pods",
            ResourcePath("", "v1", "pods", "shop"),
            id="pods of one namespace",
        ),
        pytest.param(
            "/apis/apps/v1/namespaces/shop/deployments/web/scale",
            ResourcePath("apps", "v1", "deployments", "shop", "web", "scale"),
            id="a subresource",
        ),
        pytest.param(
            "/api/v1/watch/namespaces/shop/pods",
            ResourcePath("", "v1", "pods", "shop", legacy_watch=True),
            id="the deprecated watch prefix",
        ),
        pytest.param(
            "/api/v1/namespaces/shop/services/web/proxy/a/b",
            ResourcePath("", "v1", "services", "shop", "web", "proxy"),
            id="a proxy path",
        ),
        pytest.param("/apis/apps/v1/", None, id="a group version is no resource"),
        pytest.param("/healthz", None, id="something else"),
        pytest.param("/api/v1/a/b/c/d", None, id="too long"),
    ],
)
def test_paths_are_read_as_kubernetes_reads_them(text: str, expected: ResourcePath | None) -> None:
    assert parse(text) == expected


def test_names_are_percent_encoded() -> None:
    path = ResourcePath("rbac.authorization.k8s.io", "v1", "clusterroles", "", "system:a b%")
    assert build(path).endswith("/clusterroles/system:a%20b%25")
