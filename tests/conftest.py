"""Fixtures every test module may use."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the benchmark data; tests that need real data are skipped without it."""
    folder = os.environ.get("FRUGALFOREST_DATA")
    if not folder:
        pytest.skip("needs real data: set FRUGALFOREST_DATA to the folder that holds it")
    return Path(folder)
