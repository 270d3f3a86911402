"""Why samples were bad, counted: errors that differ only in names and numbers are one cause."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._generated.judge import EXAMPLES, MOST_CAUSES, TOLD_CAUSES


@dataclass
class Cause:
    """One of them, as the first sample had it."""

    problem: str
    stage: str
    of: str
    suspect: Optional[str]
    count: int = 0
    examples: List[str] = field(default_factory=list)

    def __str__(self) -> str:
        names = ", ".join(self.examples) + (", …" if self.count > len(self.examples) else "")
        return f"{self.count} × {self.stage} of {self.of} failed: {self.problem} ({names})"


class Causes:
    """Counts them."""

    def __init__(self) -> None:
        self._causes: Dict[Tuple[str, ...], Cause] = {}
        self._others = 0

    def add(self, bad: Mapping[str, Any]) -> None:
        """One more bad sample, as the engine tells of it."""
        problem, stage = str(bad.get("problem") or bad["message"]), str(bad["stage"])
        of = "the sample" if bad.get("field") is None else f'field "{bad["field"]}"'
        key = (stage, of, _alike(problem, bad["id"], bad.get("file")))
        cause = self._causes.get(key)
        if cause is None:
            if len(self._causes) >= MOST_CAUSES:
                self._others += 1
                return
            cause = self._causes[key] = Cause(problem, stage, of, bad.get("suspect"))
        cause.count += 1
        if len(cause.examples) < EXAMPLES:
            cause.examples.append(str(bad["id"]))

    @property
    def only_suspect(self) -> Optional[str]:
        """What the only cause suspects the definition of: "column", "code", or None."""
        if len(self._causes) != 1 or self._others > 0:
            return None
        return next(iter(self._causes.values())).suspect

    def text(self) -> str:
        """The most frequent first, each with some of its samples."""
        found = sorted(self._causes.values(), key=lambda cause: -cause.count)
        rest = sum(cause.count for cause in found[TOLD_CAUSES:]) + self._others
        return "; ".join(
            [str(cause) for cause in found[:TOLD_CAUSES]] + ([f"{rest} × others"] if rest else [])
        )


def _alike(problem: str, *names: Any) -> str:
    """The text without what differs from sample to sample."""
    for name in names:
        if name:
            problem = problem.replace(str(name), "…")
    return re.sub(r"\d+", "#", re.sub(r'"[^"]*"', '"…"', problem))
