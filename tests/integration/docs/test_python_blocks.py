"""Every Python block of the pages has its imports, and runs."""

import ast
import asyncio
import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from page_blocks import PAGES, ROOT, list_blocks

from quarterdeck.apis.kubernetes.apps import Deployment
from quarterdeck.client import Client
from quarterdeck.meta import crd
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.testing import eventually

TESTS = ROOT / "docs/how-to/test-an-operator.md"
"""Its blocks are test files, each on its own."""
OPERATOR = ROOT / "docs/how-to/write-an-operator.md"
"""Its blocks make one operator."""
REFERENCE = ROOT / "docs/reference/python.md"
"""Its blocks are signatures, generated from the code."""
EXAMPLES = [ROOT / "examples/hello", ROOT / "examples/shelves"]
CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
UNUSED = ("-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:schemathesis")


def join_blocks(page: Path) -> str:
    """The Python of a page as one module, at the lines where it stands."""
    lines: list[str] = []
    for block in list_blocks(page):
        if block.info == "python":
            lines += [""] * (block.line - 1 - len(lines))
            lines += block.text.splitlines()
    return "\n".join(lines)


APART = (TESTS, OPERATOR, REFERENCE)
PYTHON_PAGES = [page for page in PAGES if page not in APART and join_blocks(page)]


def test_there_are_pages_with_python() -> None:
    assert len(PYTHON_PAGES) >= 5


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
async def test_the_python_of_a_page_runs_top_to_bottom(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "import kopf" in page.read_text() and importlib.util.find_spec("kopf") is None:
        pytest.skip("kopf is not installed: pip install quarterdeck[clients]")
    for folder in EXAMPLES:
        monkeypatch.syspath_prepend(str(folder))
    code = compile(join_blocks(page), page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    namespace: dict[str, Any] = {"__name__": "page"}
    result = await asyncio.to_thread(eval, code, namespace)
    if inspect.iscoroutine(result):
        await result


@pytest.mark.slow
def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    blocks = [each for each in list_blocks(TESTS) if each.info == "python"]
    for block in blocks:
        (tmp_path / f"test_line_{block.line}.py").write_text(block.text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *UNUSED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, EXAMPLES))},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout
    assert f"{len(blocks)} passed" in done.stdout, done.stdout


def load_page(page: Path, tmp_path: Path) -> ModuleType:
    path = tmp_path / "shop_page.py"
    path.write_text(join_blocks(page))
    spec = importlib.util.spec_from_file_location("shop_page", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shop_page"] = module
    spec.loader.exec_module(module)
    return module


async def test_the_operator_of_the_page_works(client: Client, tmp_path: Path) -> None:
    page = load_page(OPERATOR, tmp_path)
    await client.resource(CRDS).create(crd.build_manifest([page.Shop]))
    async with page.build_manager(client).running():
        metadata = ObjectMeta(name="corner", namespace="default")
        await client.create(page.Shop(metadata=metadata, spec=page.ShopSpec(replicas=2)))

        async def is_open() -> bool:
            shop = await client.get(page.Shop, "corner", "default")
            return bool(shop.status.phase == "Open")

        await eventually(is_open)
        made = await client.get(Deployment, "corner", "default")
        assert made.spec is not None and made.spec.replicas == 2
    assert page.to_hub(page.from_hub(page.Shop(spec=page.ShopSpec(replicas=3)))).spec.replicas == 3
