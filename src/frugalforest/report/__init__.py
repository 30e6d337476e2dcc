"""One self-contained page of HTML about a fitted model, or about methods that were compared."""

from frugalforest.report.compare_page import compare_page
from frugalforest.report.fit_page import fit_page
from frugalforest.report.measuring import Measured, money_by_feature

__all__ = ["Measured", "compare_page", "fit_page", "money_by_feature"]
