"""Buying features one at a time: runs, stop rules, receipts, sources."""

from frugalforest.acquisition.acquirer import Acquirer, Evaluation
from frugalforest.acquisition.fetch_error import FetchError
from frugalforest.acquisition.receipt import Receipt, Step
from frugalforest.acquisition.run import Acquisition
from frugalforest.acquisition.stopping import Order, StopRule

__all__ = ["Acquirer", "Acquisition", "Evaluation", "FetchError", "Order", "Receipt", "Step", "StopRule"]
