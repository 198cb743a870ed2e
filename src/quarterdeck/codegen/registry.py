"""Every generator there is. To add one, write a function that returns files and name it here."""

from quarterdeck.codegen import (
    builders,
    builtin_structs,
    chart,
    commands,
    conditions,
    crds,
    deployment,
    environment,
    events,
    experiments,
    expressions,
    hub,
    metrics,
    pages,
    proto,
    python_api,
    roles,
    tree,
    web_types,
)
from quarterdeck.codegen.files import Generator, Target

GENERATORS: tuple[Generator, ...] = (
    Generator(
        name="CRD manifests",
        target=Target.MANIFESTS,
        run=crds.files,
        owns=("config/crd/bases/*.yaml",),
    ),
    Generator(
        name="roles for users",
        target=Target.MANIFESTS,
        run=roles.files,
        owns=tuple(f"config/rbac/*_{role}_role.yaml" for role in roles.ROLES),
    ),
    Generator(
        name="deployment and samples",
        target=Target.MANIFESTS,
        run=deployment.files,
        owns=(
            "config/manager/*.yaml",
            "config/default/*.yaml",
            "config/samples/*.yaml",
            "config/components/*/*.yaml",
            "config/overlays/*/*.yaml",
        ),
    ),
    Generator(
        name="Helm chart",
        target=Target.MANIFESTS,
        run=chart.files,
        owns=tuple(
            f"charts/quarterdeck/templates/{folder}/*.yaml"
            for folder in ("crds", "operators", "services")
        ),
    ),
    Generator(
        name="catalogue of experiments",
        target=Target.MANIFESTS,
        run=experiments.files,
        owns=("experiments/catalogue/*.yaml",),
    ),
    Generator(
        name="builders",
        target=Target.GENERATE,
        run=builders.files,
        owns=("src/quarterdeck/apis/*/builders.py", "src/quarterdeck/apis/builders/*.py"),
    ),
    Generator(
        name="structs of built-in kinds",
        target=Target.GENERATE,
        run=builtin_structs.files,
        owns=("src/quarterdeck/apis/kubernetes/*.py",),
    ),
    Generator(
        name="reference of kinds",
        target=Target.GENERATE,
        run=pages.files,
        owns=("docs/reference/kinds/*.md",),
    ),
    Generator(
        name="tree of packages",
        target=Target.GENERATE,
        run=tree.files,
        owns=(tree.PAGE,),
    ),
    Generator(
        name="reference of expressions",
        target=Target.GENERATE,
        run=expressions.files,
        owns=(expressions.PAGE,),
    ),
    Generator(
        name="reference of metrics",
        target=Target.GENERATE,
        run=metrics.files,
        owns=(metrics.PAGE,),
    ),
    Generator(
        name="reference of conditions",
        target=Target.GENERATE,
        run=conditions.files,
        owns=(conditions.PAGE,),
    ),
    Generator(
        name="reference of events",
        target=Target.GENERATE,
        run=events.files,
        owns=(events.PAGE,),
    ),
    Generator(
        name="reference of environment variables",
        target=Target.GENERATE,
        run=environment.files,
        owns=(environment.PAGE,),
    ),
    Generator(
        name="reference of the Python API",
        target=Target.GENERATE,
        run=python_api.files,
        owns=(python_api.PAGE,),
    ),
    Generator(
        name="reference of commands",
        target=Target.GENERATE,
        run=commands.files,
        owns=(commands.PAGE,),
    ),
    Generator(
        name="reference of the hub API",
        target=Target.GENERATE,
        run=hub.files,
        owns=(hub.PAGE,),
    ),
    Generator(
        name="protocol of collectors",
        target=Target.GENERATE,
        run=proto.files,
        owns=(proto.PATH,),
    ),
    Generator(
        name="types of the dashboard",
        target=Target.GENERATE,
        run=web_types.files,
        owns=("web/src/generated/*.ts",),
    ),
)
