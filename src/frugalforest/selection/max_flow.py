"""Project selection: which projects pay for the tools they need, by one maximum flow in whole numbers.

Python's whole numbers have no largest one, so the answer is exact whatever the prices are. SciPy's maximum_flow takes
32 bits only, and a linear program is right up to a tolerance: neither can tell a tie from a tiny gain.
"""

from __future__ import annotations

from collections.abc import Sequence


def worthwhile_projects(gains: Sequence[int], needs: Sequence[Sequence[int]], prices: Sequence[int]) -> list[bool]:
    """The smallest set of projects with the largest profit.

    profit(P) = sum of gains_p over p in P - sum of prices_t over the tools t that some p in P needs

    gains: (n_projects,) >= 0; needs: the tools of each project; prices: (n_tools,) >= 0; result: (n_projects,).

    By the minimum cut of source -> project (gain) -> its tools (no limit) -> sink (price): what the source still
    reaches when the flow is largest (Picard 1976), which is the smallest of the optimal sets.
    """
    flow = _Flow(gains, needs, prices)
    while flow.find_levels():
        flow.saturate_levels()
    return [level >= 0 for level in flow.levels[: len(gains)]]


class _Flow:
    """Dinic's algorithm. Nodes: projects 0 .. n_projects - 1, then tools."""

    def __init__(self, gains: Sequence[int], needs: Sequence[Sequence[int]], prices: Sequence[int]) -> None:
        self.n_projects = len(gains)
        self.left = list(gains)  # of each project's gain, not yet sent
        self.room = list(prices)  # of each tool's price, not yet paid
        self.needs = [[self.n_projects + tool for tool in tools] for tools in needs]
        self.sent: list[dict[int, int]] = [{} for _ in prices]  # to each tool, by project
        self.levels: list[int] = []

    def find_levels(self) -> bool:
        """Steps from the source to every node that more flow could reach, else -1; whether a tool has room there."""
        self.levels = [0 if left > 0 else -1 for left in self.left] + [-1] * len(self.room)
        front = [p for p, level in enumerate(self.levels) if level == 0]
        step, found = 0, False
        while front:
            step += 1
            reached = {node for p in front for node in self.needs[p] if self.levels[node] < 0}
            for node in reached:
                self.levels[node] = step
            found = found or any(self.room[node - self.n_projects] > 0 for node in reached)
            step += 1
            front = sorted({p for node in reached for p in self._returns(node) if self.levels[p] < 0})
            for p in front:
                self.levels[p] = step
        return found

    def saturate_levels(self) -> None:
        """Send flow along paths that gain a level in each step, until there is none."""
        arcs: dict[int, list[int]] = {}
        for project in [p for p, level in enumerate(self.levels) if level == 0]:
            while self.left[project] > 0 and (path := self._open_path(project, arcs)):
                self._send(path)

    def _returns(self, node: int) -> list[int]:
        """Projects that send flow to a tool: they could send it elsewhere if someone else paid here."""
        return [project for project, amount in self.sent[node - self.n_projects].items() if amount > 0]

    def _open_path(self, project: int, arcs: dict[int, list[int]]) -> list[int]:
        """Nodes from a project to a tool with room, or nothing. `arcs`: those of each node that are not yet dead."""
        path = [project]
        while path:
            node = path[-1]
            if node >= self.n_projects and self.room[node - self.n_projects] > 0:
                return path
            onward = self._onward(node, arcs)
            while onward and not self._is_open(node, onward[-1]):
                onward.pop()
            if onward:
                path.append(onward[-1])
            else:
                path.pop()
                if path:
                    arcs[path[-1]].pop()
        return []

    def _onward(self, node: int, arcs: dict[int, list[int]]) -> list[int]:
        if node not in arcs:
            ends = self.needs[node] if node < self.n_projects else self._returns(node)
            arcs[node] = [end for end in ends if self.levels[end] == self.levels[node] + 1]
        return arcs[node]

    def _is_open(self, node: int, end: int) -> bool:
        return node < self.n_projects or self.sent[node - self.n_projects][end] > 0

    def _send(self, path: list[int]) -> None:
        """As much flow as the path takes: [project, tool, project, ..., tool]."""
        tools = [node - self.n_projects for node in path[1::2]]
        projects = path[::2]
        returned = zip(tools[:-1], projects[1:], strict=True)
        limits = [self.left[projects[0]], self.room[tools[-1]]]
        amount = min(limits + [self.sent[tool][project] for tool, project in returned])
        self.left[projects[0]] -= amount
        self.room[tools[-1]] -= amount
        for project, tool in zip(projects, tools, strict=True):
            self.sent[tool][project] = self.sent[tool].get(project, 0) + amount
        for tool, project in zip(tools[:-1], projects[1:], strict=True):
            self.sent[tool][project] -= amount
