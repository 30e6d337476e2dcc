"""Error against bill of several methods."""

from types import SimpleNamespace

import numpy as np
import pytest

from frugalforest.plotting.methods import draw_methods, methods_data


def point(method, cost, error, half=np.nan):
    return SimpleNamespace(method=method, cost=cost, error=error, half=half)


POINTS = [point("a", 5.0, 0.1, 0.02), point("b", 1.0, 0.3), point("a", 2.0, 0.2, 0.05), point("b", 1.0, 0.3)]


def test_data():
    a, b = methods_data(POINTS)
    assert (a.name, a.cost.tolist(), a.error.tolist(), a.half.tolist()) == ("a", [2, 5], [0.2, 0.1], [0.05, 0.02])
    assert b.name == "b"
    assert b.cost.tolist() == [1.0]


@pytest.mark.parametrize("factor", [1, 100])
def test_drawing(factor):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    points = [*POINTS, point("dear", 10.0 * factor, 0.05)]
    ax = draw_methods(points, free_error=0.4, total_cost=12.0 * factor, ax=pyplot.figure().add_subplot())
    assert [text.get_text() for text in ax.get_legend().get_texts()][-3:] == ["a", "b", "dear"]
    assert ax.get_xscale() == ("linear" if factor == 1 else "symlog")
    assert ax.get_ylim()[0] == 0
    pyplot.close("all")
