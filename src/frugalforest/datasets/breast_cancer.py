"""Wisconsin diagnostic breast cancer with an illustrative price list: an example that needs no download."""

from __future__ import annotations

import numpy as np
from sklearn import datasets as sklearn_datasets

from frugalforest.costs import FeatureCosts, Group
from frugalforest.datasets.dataset import Dataset

# Illustrative: nobody ever paid these. Size needs one outline of each nucleus, shape a careful one, and texture and
# fractal dimension a second look at the image, so they get dearer in this order.
MEASUREMENT_COSTS = {
    "radius": 1.00,
    "perimeter": 1.20,
    "area": 1.50,
    "smoothness": 2.40,
    "compactness": 2.60,
    "symmetry": 2.80,
    "concavity": 3.20,
    "concave_points": 3.50,
    "texture": 4.50,
    "fractal_dimension": 6.00,
}
# Once all nuclei are measured: their mean, its standard error, and the mean of the three largest.
STATISTIC_COSTS = {"mean": 0.10, "error": 0.25, "worst": 0.15}


def load_breast_cancer(*, as_frame: bool = False) -> Dataset:
    """Scikit-learn's breast cancer data (569 x 30, y = 0 malignant, 1 benign) with a price list.

    The 30 features are 10 measurements of cell nuclei times 3 statistics of each. A measurement is a group, paid once;
    each statistic adds a small cost of its own. **The prices are illustrative, not real**: they were made up to
    show what groups do, and no conclusion about medicine follows from them.
    """
    source = sklearn_datasets.load_breast_cancer()
    names = tuple(str(name).replace(" ", "_") for name in source.feature_names)
    classes = tuple(map(str, source.target_names))
    y = np.asarray(source.target)
    dataset = Dataset("breast_cancer", source.data, y, names, classes, illustrative_costs(names))
    return dataset.as_frame() if as_frame else dataset


def illustrative_costs(feature_names: tuple[str, ...]) -> FeatureCosts:
    """The price list above for features called mean_radius, radius_error, worst_radius, ..."""
    parts = {name: _statistic_and_measurement(name) for name in feature_names}
    own = {name: STATISTIC_COSTS[statistic] for name, (statistic, _) in parts.items()}
    groups = {
        measurement: Group(tuple(name for name in feature_names if parts[name][1] == measurement), cost)
        for measurement, cost in MEASUREMENT_COSTS.items()
    }
    return FeatureCosts(own, groups=groups)


def _statistic_and_measurement(name: str) -> tuple[str, str]:
    if name.endswith("_error"):
        return "error", name.removesuffix("_error")
    statistic, _, measurement = name.partition("_")
    return statistic, measurement
