"""The package loads its parts when they are used, and nobody notices."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import frugalforest as ff


def imports_for_type_checkers():
    """(module, name) of every import that a type checker sees in the package."""
    tree = ast.parse(Path(ff.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    return [(line.module, alias.name) for line in block.body for alias in line.names]


@pytest.mark.parametrize(("module", "name"), imports_for_type_checkers())
def test_a_name_is_what_type_checkers_believe(module, name):
    is_package = module == "frugalforest"
    expected = (
        importlib.import_module(f"frugalforest.{name}")
        if is_package
        else getattr(importlib.import_module(module), name)
    )
    assert getattr(ff, name) is expected


def test_type_checkers_know_every_public_name():
    assert sorted(name for _, name in imports_for_type_checkers()) == sorted(ff.__all__)


def test_dir_and_star_imports():
    assert set(ff.__all__) | {"costs", "estimators", "__version__"} <= set(dir(ff))
    names = {}
    exec("from frugalforest import *", names)
    assert set(ff.__all__) <= names.keys()


def test_unknown_names():
    with pytest.raises(AttributeError, match="module 'frugalforest' has no attribute 'Forests'"):
        ff.Forests  # noqa: B018
    assert not hasattr(ff, "__wrapped__")


def loaded_after(code):
    found = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(found.stdout.split())


def test_importing_the_package_loads_nothing_heavy():
    assert not {"numpy", "sklearn", "scipy", "pyarrow", "rich"} & loaded_after("import frugalforest")


def test_a_price_list_needs_no_estimators():
    assert "sklearn" not in loaded_after("import frugalforest as ff; ff.FeatureCosts([1, 2])")
