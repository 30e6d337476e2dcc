"""_core.pyi says what the compiled core has: the same names, and the same arguments in the same order."""

import ast
import re
from pathlib import Path

import pytest

import frugalforest
from frugalforest import _core

STUB = ast.parse((Path(frugalforest.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
DEFINITIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
FUNCTIONS = {name: node for name, node in DEFINITIONS.items() if isinstance(node, ast.FunctionDef)}
METHODS = {
    f"{name}.{part.name}": part
    for name, node in DEFINITIONS.items()
    for part in node.body
    if isinstance(part, ast.FunctionDef) and not part.decorator_list  # properties take no arguments
}


def public(names) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_the_names_are_the_same():
    assert public(dir(_core)) == DEFINITIONS.keys()


@pytest.mark.parametrize("name", sorted(DEFINITIONS.keys() - FUNCTIONS.keys()))
def test_the_members_of_classes_are_the_same(name):
    stub = DEFINITIONS[name]
    if any(isinstance(base, ast.Name) and base.id == "Enum" for base in stub.bases):
        values = {part.targets[0].id: part.value.value for part in stub.body}
        assert {member.name: member.value for member in getattr(_core, name)} == values
        return
    members = {part.name if isinstance(part, ast.FunctionDef) else part.target.id for part in stub.body}
    assert public(dir(getattr(_core, name))) == public(members)


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_the_arguments_are_the_same(name):
    owner, _, method = name.rpartition(".")
    function = getattr(getattr(_core, owner) if owner else _core, method)
    ((signature, *_),) = function.__nb_signature__
    arguments = {**FUNCTIONS, **METHODS}[name].args
    assert re.findall(r"[(\s](\w+): ", signature) == [a.arg for a in arguments.args if a.arg != "self"]
    assert len(re.findall(r" = \\\d", signature)) == len(arguments.defaults)
