"""What is imported by what, where import-linter (see pyproject.toml) cannot look."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import frugalforest

PACKAGE = Path(frugalforest.__file__).parent
INSIDE = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.name != "__init__.py")


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_modules_take_nothing_but_the_compiled_core_from_the_package_itself(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only: they say which layer they go to"
            assert node.module != "frugalforest" or [name.name for name in node.names] == ["_core"]


WITHOUT_EXTRAS = """
import sys
class NotInstalled:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("matplotlib", "pandas", "polars", "pyarrow", "tqdm"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NotInstalled)
import frugalforest as ff
data = ff.datasets.load_breast_cancer()
forest = ff.BudgetForestClassifier(feature_costs=data.feature_costs, n_estimators=3, random_state=0)
forest.fit(data.X, data.y).acquisition_cost(data.X)
"""


def test_numpy_users_need_no_extras():
    subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT_EXTRAS], check=True)


def test_importing_loads_no_drawing_code():
    loaded = "import sys, frugalforest; sys.exit(any(m in sys.modules for m in ('matplotlib', 'polars', 'tqdm')))"
    subprocess.run([sys.executable, "-c", loaded], check=True)


def test_every_public_name_is_there():
    assert [name for name in frugalforest.__all__ if not hasattr(frugalforest, name)] == []
