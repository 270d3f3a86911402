"""The builders of blends: several sources mixed by weight, or the token files of a list."""

from __future__ import annotations

from typing import Any, Dict, Literal, Mapping, Optional, Sequence, Tuple, Union

from .._open.names import refuse_unknown
from .feed import Builder, source_json
from .source import source_of
from .sources import Source
from .tokens import tokens

Entry = Union[Mapping[str, Any], Tuple[Source, float]]


def blend(
    entries: Sequence[Entry],
    *,
    per: Optional[Literal["sample", "batch"]] = None,
    epoch: Optional[int] = None,
    by: Optional[Literal["rows", "tokens"]] = None,
    schedule: Optional[Literal["shuffled", "deficit"]] = None,
    max_epochs: Optional[float] = None,
) -> Builder:
    """Several sources mixed by weight: (source, weight), or dicts of ``source``, ``weight`` (or ``epochs``:
    how often it is seen in an epoch of the blend), ``name``, ``corpus`` and ``rename``. ``by="tokens"`` has
    weights mean shares of tokens; ``schedule="deficit"`` draws deterministically from the source that lags
    most behind. More than ``max_epochs`` of a source of tokens are worth a warning."""
    rules = _rules(per, epoch, by, schedule, max_epochs)
    return source_of("blend", {"entries": [_entry(entry) for entry in entries], **rules})


def blend_list(
    list: str,
    *,
    root: Optional[str] = None,
    epochs: Optional[Mapping[str, float]] = None,
    per: Optional[Literal["sample", "batch"]] = None,
    epoch: Optional[int] = None,
    by: Optional[Literal["rows", "tokens"]] = None,
    schedule: Optional[Literal["shuffled", "deficit"]] = None,
    max_epochs: Optional[float] = None,
    **options: Any,
) -> Builder:
    """The token files of a list with lines ``<weight> <prefix> <corpus>``, as blendcorpus writes it:
    ``blend_list("files.txt", length=2048)``. All other options are those of ``millrace.tokens``.
    ``epochs={"web": 1, "wiki": 3}`` says how often each corpus is seen, in place of the list's weights.
    ``root``: where files that the list names may lie, besides its own folder."""
    files: Dict[str, Any] = dict(source_json(tokens(list, **options), "blend_list")["tokens"])
    del files["path"]
    rules = _rules(per, epoch, by, schedule, max_epochs)
    return source_of("blend", {"list": list, "root": root, "tokens": files, "epochs": epochs, **rules})


def _rules(
    per: Optional[str],
    epoch: Optional[int],
    by: Optional[str],
    schedule: Optional[str],
    max_epochs: Optional[float],
) -> Dict[str, Any]:
    return {"per": per, "epoch": epoch, "by": by, "schedule": schedule, "maxEpochs": max_epochs}


def _entry(entry: Entry) -> Dict[str, Any]:
    if isinstance(entry, (tuple, list)) and len(entry) == 2:
        entry = {"source": entry[0], "weight": entry[1]}
    if not isinstance(entry, Mapping) or "source" not in entry:
        raise TypeError(f"blend takes entries such as (source, weight), and {entry!r} is none")
    refuse_unknown("an entry of blend", entry, ("source", "weight", "epochs", "name", "corpus", "rename"))
    return {**entry, "source": source_json(entry["source"], "blend")}
