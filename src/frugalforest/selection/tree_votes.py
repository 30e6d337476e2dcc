"""Out-of-bag votes of many small trees as sets of bits, and the error of an ensemble with any one of them added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]


def as_words(bits: Mask) -> Words:
    """(..., n) bits as words of 64, (..., n_words); the last word is filled up with zeros."""
    packed = np.packbits(bits, axis=-1, bitorder="little")
    padding = [(0, 0)] * (packed.ndim - 1) + [(0, -packed.shape[-1] % 8)]
    return np.ascontiguousarray(np.pad(packed, padding)).view(np.uint64)


def n_common(sets: Words, one: Words) -> NDArray[np.int64]:
    """Size of the intersection of each set with one set: (n_sets, n_words), (n_words,) -> (n_sets,)."""
    return np.bitwise_count(sets & one).sum(axis=-1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class CandidateTrees:
    """Trees to choose from: the out-of-bag rows that vote for each class, the features used, and the level of each."""

    voters: Words  # (n_classes, n_trees, n_words)
    features: Mask  # (n_trees, n_features)
    level: NDArray[np.int64]  # (n_trees,): 1 for the most limited

    @classmethod
    def from_votes(cls, votes: NDArray[np.int8], n_classes: int, features: Mask, level: int) -> CandidateTrees:
        """votes: (n_trees, n_rows), the class each tree votes for, -1 where the row is in its bag."""
        voters = np.stack([as_words(votes == c) for c in range(n_classes)])
        return cls(voters, features, np.full(len(features), level))

    @staticmethod
    def joined(parts: list[CandidateTrees]) -> CandidateTrees:
        """All trees of several sets of candidates, in order."""
        return CandidateTrees(
            np.concatenate([part.voters for part in parts], axis=1),
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.level for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.level)

    def take(self, mask: Mask) -> CandidateTrees:
        """The trees of a mask."""
        return CandidateTrees(self.voters[:, mask], self.features[mask], self.level[mask])


class Tally:
    """Votes of the trees chosen so far, and the error with each candidate added to them.

    A row is right if the class with most votes is its own, the first class of equals; without a vote it is wrong. So
    with one more vote for class c the rows that would be right are a set that does not depend on who casts it: one
    intersection with the voters of a candidate counts them.
    """

    def __init__(self, labels: NDArray[np.int32], n_classes: int) -> None:
        self.labels = labels
        self.votes = np.zeros((len(labels), n_classes), dtype=np.int32)

    @property
    def error(self) -> float:
        """Out-of-bag error of the trees chosen so far; 1 - 1 / n_classes for none, a guess that knows nothing."""
        if not self.votes.any():
            return 1 - 1 / self.votes.shape[1]
        return 1 - int(self._right_now().sum()) / len(self.labels)

    def errors_with(self, trees: CandidateTrees) -> Floats:
        """The error with each candidate added, (n_trees,)."""
        now = as_words(self._right_now())
        anyone = np.bitwise_or.reduce(trees.voters, axis=0)
        right = int(np.bitwise_count(now).sum()) - n_common(anyone, now)
        for c, voters in enumerate(trees.voters):
            right = right + n_common(voters, as_words(self._right_with(c)))
        return 1 - right / len(self.labels)

    def add(self, trees: CandidateTrees, tree: int) -> None:
        """Count the votes of one candidate."""
        n_rows = len(self.labels)
        for c in range(self.votes.shape[1]):
            bits = np.unpackbits(trees.voters[c, tree].view(np.uint8), count=n_rows, bitorder="little")
            self.votes[:, c] += bits

    def _right_now(self) -> Mask:
        return (np.argmax(self.votes, axis=1) == self.labels) & self.votes.any(axis=1)

    def _right_with(self, vote: int) -> Mask:
        votes = self.votes.copy()
        votes[:, vote] += 1
        return np.argmax(votes, axis=1) == self.labels
