"""What features cost: the price list, and the only place where money is added up.

    cost(S) = sum of own_f over f in S + sum of shared_g over the groups g that S touches

A group is a common step (a blood draw, an image descriptor, an API call) that is paid once, whichever member asks
first. Groups may overlap, a feature may be in none. Sums are exact: see `ticks`.

Imports go one way: ticks <- bills, checks; groups <- price_list; all of these <- feature_costs <- resolve.
"""

from frugalforest.costs.feature_costs import FeatureCosts
from frugalforest.costs.groups import Group
from frugalforest.costs.resolve import resolve_costs

__all__ = ["FeatureCosts", "Group", "resolve_costs"]
