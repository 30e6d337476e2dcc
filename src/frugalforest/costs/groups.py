"""Group: features with a common step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Group:
    """Features with a common step: `cost` is paid once, by the first of the `members` (names or positions)."""

    members: tuple[str | int, ...]
    cost: float

    def __post_init__(self) -> None:
        if isinstance(self.members, str) or not isinstance(self.members, Iterable):
            raise TypeError(f"the members of a group are a list; write [{self.members!r}] for a group of one.")
        object.__setattr__(self, "members", tuple(self.members))


def check_groups(groups: Any) -> dict[str, Group]:
    """Groups by name, from a dict of groups or of mappings with the keys `members` and `cost`."""
    if not isinstance(groups, Mapping) or not all(isinstance(name, str) and name for name in groups):
        raise TypeError(f"groups must be a dict name -> Group with non-empty names, got {groups!r:.80}.")
    return {str(name): _as_group(name, group) for name, group in groups.items()}


def _as_group(name: str, group: Any) -> Group:
    if isinstance(group, Group):
        return group
    if isinstance(group, Mapping) and set(group) == {"members", "cost"}:
        return Group(**group)
    raise TypeError(f"group {name!r} must be Group(members=[...], cost=...), got {group!r:.80}.")
