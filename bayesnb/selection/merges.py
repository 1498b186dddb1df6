"""Merging parts of a model, the best pair first, while its log Bayes factor exceeds the log of the number of pairs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bayesnb.selection.parts import Blocks, Part

__all__ = ["Merge", "Search", "merge_while_rising"]


@dataclass(frozen=True)
class Merge:
    """Two parts as one block.

    Attributes
    ----------
    first, second : Part
    log_bayes_factor : float
        Log evidence of the block less those of the two parts.
    pairs : int
        Number of pairs that could be merged in this step.
    """

    first: Part
    second: Part
    log_bayes_factor: float
    pairs: int

    @property
    def threshold(self) -> float:
        """What the log Bayes factor has to exceed.

        "Some pair depends" and "no pair does" have the same prior probability, and every pair the same share of it.
        """
        return math.log(self.pairs)

    @property
    def block(self) -> Part:
        """The block, its columns in the order of the table."""
        columns = tuple(sorted((*self.first.columns, *self.second.columns)))
        total = self.first.log_evidence + self.second.log_evidence + self.log_bayes_factor
        return Part(None, columns, self.first.kind, total)


@dataclass(frozen=True)
class Search:
    """What a search found.

    Attributes
    ----------
    merges : tuple of Merge
        In their order.
    blocks : tuple of Part
        The blocks at the end that are merged of others.
    best_left : Merge or None
        The best of the pairs that were left, which does not exceed its threshold; None if no pair was left.
    too_wide : bool
        Whether pairs were left out because their block would be wider than the limit.
    too_many : bool
        Whether pairs were left out because their block cannot be.
    """

    merges: tuple[Merge, ...]
    blocks: tuple[Part, ...]
    best_left: Merge | None
    too_wide: bool
    too_many: bool


def merge_while_rising(parts: Sequence[Part], blocks: Mapping[str, Blocks], max_width: int) -> Search:
    """Merge the pair of parts with the highest log Bayes factor, again and again while it exceeds its threshold.

    All pairs are measured at the beginning, and after a merge those of the new block.

    Parameters
    ----------
    parts : sequence of Part
    blocks : mapping
        By kind.
    max_width : int
        Largest number of columns of a block.
    """
    pairs = _Pairs(list(parts), blocks, max_width)
    merges: list[Merge] = []
    while (best := pairs.best()) is not None and best[1].log_bayes_factor > best[1].threshold:
        places, merge = best
        pairs.join(places, merge.block)
        merges.append(merge)
    return Search(
        merges=tuple(merges),
        blocks=tuple(part for part in pairs.parts if part is not None and part.feature is None),
        best_left=None if best is None else best[1],
        too_wide=pairs.too_wide,
        too_many=pairs.too_many,
    )


class _Pairs:
    """The parts that are left, None in the place of those that are not, and the log Bayes factor of every pair."""

    def __init__(self, parts: list[Part | None], blocks: Mapping[str, Blocks], max_width: int) -> None:
        self.parts, self.blocks, self.max_width = parts, blocks, max_width
        self.too_wide = self.too_many = False
        self.gain = np.full((len(parts), len(parts)), -np.inf)
        self._measure(combinations(range(len(parts)), 2))

    def best(self) -> tuple[tuple[int, int], Merge] | None:
        """Places and merge of the pair with the highest log Bayes factor; None if no pair can be merged."""
        if not self.parts:
            return None
        i, j = map(int, np.unravel_index(self.gain.argmax(), self.gain.shape))
        if self.gain[i, j] == -np.inf:
            return None
        first, second = sorted((self._part(i), self._part(j)), key=lambda part: part.columns)
        return (i, j), Merge(first, second, float(self.gain[i, j]), int((self.gain > -np.inf).sum()))

    def join(self, places: tuple[int, int], block: Part) -> None:
        """Put a block in the place of two parts."""
        for place in places:
            self.parts[place] = None
            self.gain[place, :] = self.gain[:, place] = -np.inf
        self.parts[places[0]] = block
        self._measure((places[0], k) for k, part in enumerate(self.parts) if part is not None and k != places[0])

    def _part(self, place: int) -> Part:
        part = self.parts[place]
        assert part is not None
        return part

    def _measure(self, places: Iterable[tuple[int, int]]) -> None:
        by_kind: dict[str, list[tuple[int, int]]] = {kind: [] for kind in self.blocks}
        for i, j in places:
            first, second = self._part(i), self._part(j)
            if first.kind != second.kind:
                continue
            if first.width + second.width > self.max_width:
                self.too_wide = True
            else:
                by_kind[first.kind].append((i, j))
        for kind, some in by_kind.items():
            if some:
                pairs = [(self._part(i), self._part(j)) for i, j in some]
                joined = self.blocks[kind].log_evidence(pairs)
                apart = np.array([first.log_evidence + second.log_evidence for first, second in pairs])
                self.too_many |= bool(np.isneginf(joined).any())
                self.gain[tuple(np.transpose(some))] = joined - apart
