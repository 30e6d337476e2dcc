"""One thread for every library: their small models would only wait for each other's."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(limits=1):
        yield
