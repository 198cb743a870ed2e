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
        run=crds.build_files,
        owns=("config/crd/bases/*.yaml",),
    ),
    Generator(
        name="roles for users",
        target=Target.MANIFESTS,
        run=roles.build_files,
        owns=tuple(f"config/rbac/*_{role}_role.yaml" for role in roles.ROLES),
    ),
    Generator(
        name="deployment and samples",
        target=Target.MANIFESTS,
        run=deployment.build_files,
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
        run=chart.build_files,
        owns=tuple(
            f"charts/quarterdeck/templates/{folder}/*.yaml"
            for folder in ("crds", "operators", "services")
        ),
    ),
    Generator(
        name="catalog of experiments",
        target=Target.MANIFESTS,
        run=experiments.build_files,
        owns=("experiments/catalog/*.yaml",),
    ),
    Generator(
        name="builders",
        target=Target.GENERATE,
        run=builders.build_files,
        owns=("src/quarterdeck/apis/*/builders.py", "src/quarterdeck/apis/builders/*.py"),
    ),
    Generator(
        name="structs of built-in kinds",
        target=Target.GENERATE,
        run=builtin_structs.build_files,
        owns=("src/quarterdeck/apis/kubernetes/*.py",),
    ),
    Generator(
        name="reference of kinds",
        target=Target.GENERATE,
        run=pages.build_files,
        owns=("docs/reference/kinds/*.md",),
    ),
    Generator(
        name="tree of packages",
        target=Target.GENERATE,
        run=tree.build_files,
        owns=(tree.PAGE,),
    ),
    Generator(
        name="reference of expressions",
        target=Target.GENERATE,
        run=expressions.build_files,
        owns=(expressions.PAGE,),
    ),
    Generator(
        name="reference of metrics",
        target=Target.GENERATE,
        run=metrics.build_files,
        owns=(metrics.PAGE,),
    ),
    Generator(
        name="reference of conditions",
        target=Target.GENERATE,
        run=conditions.build_files,
        owns=(conditions.PAGE,),
    ),
    Generator(
        name="reference of events",
        target=Target.GENERATE,
        run=events.build_files,
        owns=(events.PAGE,),
    ),
    Generator(
        name="reference of environment variables",
        target=Target.GENERATE,
        run=environment.build_files,
        owns=(environment.PAGE,),
    ),
    Generator(
        name="reference of the Python API",
        target=Target.GENERATE,
        run=python_api.build_files,
        owns=(python_api.PAGE,),
    ),
    Generator(
        name="reference of commands",
        target=Target.GENERATE,
        run=commands.build_files,
        owns=(commands.PAGE,),
    ),
    Generator(
        name="reference of the hub API",
        target=Target.GENERATE,
        run=hub.build_files,
        owns=(hub.PAGE,),
    ),
    Generator(
        name="protocol of collectors",
        target=Target.GENERATE,
        run=proto.build_files,
        owns=(proto.PATH,),
    ),
    Generator(
        name="types of the dashboard",
        target=Target.GENERATE,
        run=web_types.build_files,
        owns=("web/src/generated/*.ts",),
    ),
)
