"""What to do about a kind that the API server does not serve."""

from quarterdeck.meta.objects import Object


def describe_absence(kind: type[Object]) -> str:
    """Which resource is missing, and the command that installs it."""
    info = kind.KIND
    resource = info.gvr.group_resource
    if "." not in info.group or info.group.endswith(".k8s.io"):
        return f"the API server does not serve {resource} {info.version}: use a server that does"
    return f"CRD {resource} (version {info.version}) is not installed: {_find_command(kind)}"


def _find_command(kind: type[Object]) -> str:
    """How to install the definition: ours, that of another product, or one the user declared."""
    module, group = kind.__module__, kind.KIND.group
    if module.startswith("quarterdeck.apis."):
        return "run `quarterdeck crds | kubectl apply -f -`"
    if module.startswith("quarterdeck."):
        return f"install the product that provides {group}"
    return (
        f"run `quarterdeck crds {module}:{kind.__name__} | kubectl apply -f -` if the kind is "
        f"yours, else install the product that provides {group}"
    )
