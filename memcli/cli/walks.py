"""A conversation walked under a policy: what its turns tell about whether the policy is safe.

It refuses to know how a walk is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memcli.memory.replay import ReplayRow
from memcli.memory.whatif import Alternative


@dataclass(frozen=True, slots=True)
class Walk:
    """A conversation walked under one policy."""

    alternative: Alternative
    rows: Sequence[ReplayRow]

    @property
    def peak(self) -> ReplayRow | None:
        """Give the turn whose largest call sent most; None without a call."""
        return max(self.rows, key=lambda row: row.peak_tokens, default=None)

    @property
    def worst(self) -> ReplayRow | None:
        """Give the first turn on which most messages were in no form; None when nothing was ever forgotten."""
        row = max(self.rows, key=lambda row: row.most_forgotten, default=None)
        return row if row is not None and row.most_forgotten else None

    @property
    def problems(self) -> Sequence[ReplayRow]:
        """List the turns on which a call was refused or a fold failed."""
        return [row for row in self.rows if row.problem is not None]

    @property
    def folds(self) -> int:
        """Count the folds."""
        return self.rows[-1].folds if self.rows else 0

    @property
    def is_safe(self) -> bool:
        """Tell whether every call fitted, every fold was made and nothing was ever forgotten."""
        return self.worst is None and not self.problems
