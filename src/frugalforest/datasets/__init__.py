"""Data sets: a folder of your own, OpenML, one that is always there, and simulated ones."""

from frugalforest.datasets.breast_cancer import load_breast_cancer
from frugalforest.datasets.dataset import Dataset
from frugalforest.datasets.local import available, data_folder, load, load_costs
from frugalforest.datasets.remote import fetch, fetchable
from frugalforest.datasets.simulated import make_jagdhuber

__all__ = [
    "Dataset",
    "available",
    "data_folder",
    "fetch",
    "fetchable",
    "load",
    "load_breast_cancer",
    "load_costs",
    "make_jagdhuber",
]
