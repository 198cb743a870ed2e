"""What to do about a kind that the API server does not serve."""

from quarterdeck.meta.objects import Object


def describe_absence(kind: type[Object]) -> str:
    """Which resource is missing, and the command that installs it."""
    info = kind.KIND
    resource = info.gvr.group_resource
    if "." not in info.group or info.group.endswith(".k8s.io"):
        return f"the API server does not serve {resource} {info.version}: use a server that does"
    return f"CRD {resource} (version {info.version}) is not installed: run {_find_command(kind)}"


def _find_command(kind: type[Object]) -> str:
    if kind.__module__.startswith("quarterdeck."):
        return "`quarterdeck crds | kubectl apply -f -`"
    return (
        "`kubectl apply -f` with its manifest "
        f"(quarterdeck.meta.crd.build_manifest([{kind.__name__}]) builds it)"
    )
