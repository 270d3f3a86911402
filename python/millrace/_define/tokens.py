"""The builder of the source of tokens."""

from __future__ import annotations

from typing import Any, Literal, Mapping, Optional

from .feed import Builder
from .sources import Paths, _one_or_more, _source

Pack = Literal["concat", "best_fit", "bestFit", "document"]


def tokens(
    *paths: Paths,
    length: int,
    pack: Optional[Pack] = None,
    format: Optional[str] = None,
    dtype: Optional[str] = None,
    eod: Optional[int] = None,
    eod_at: Optional[Literal["end", "start"]] = None,
    shift: Optional[Literal["here", "model"]] = None,
    phase: Optional[Literal[0]] = None,
    tail: Optional[Literal["drop", "pad"]] = None,
    long: Optional[Literal["split", "truncate", "drop"]] = None,
    insert: Optional[Mapping[str, int]] = None,
    ragged: Optional[bool] = None,
    documents: Optional[Mapping[str, Any]] = None,
    vocabulary: Optional[int] = None,
    mask: Optional[Paths] = None,
    name: Optional[str] = None,
    capacity: Optional[int] = None,
    varlen: Optional[Literal["megatron"]] = None,
    naming: Optional[Literal["hf"]] = None,
    seed: Optional[int] = None,
) -> Builder:
    """Files of tokens (Megatron-LM, nanoGPT, llm.c, .npy, OLMo) as rows of ``length`` tokens:
    ``tokens("corpus-*.bin", length=2048).shuffle(seed=7).batch(8)``.

    The feed has ``input`` and ``target`` (with ``shift="model"`` ``tokens`` and ``labels``); ``.fields([…])``
    lists others: ``"positionIds"``, ``"segments"``, ``"lossMask"``, ``"cuSeqlens"``, ``"cuCount"``,
    ``"cuLongest"``. ``pack`` is ``"concat"``, ``"best_fit"`` or ``"document"``; docs/language-models.md has
    the rest."""
    return _source(
        "tokens",
        {
            "path": _one_or_more(paths, "tokens"),
            "format": format,
            "dtype": dtype,
            "eod": eod,
            "eodAt": eod_at,
            "length": length,
            "pack": "bestFit" if pack == "best_fit" else pack,
            "shift": shift,
            "phase": phase,
            "tail": tail,
            "long": long,
            "insert": insert,
            "ragged": ragged,
            "documents": documents,
            "vocabulary": vocabulary,
            "mask": mask,
            "name": name,
            "capacity": capacity,
            "varlen": varlen,
            "naming": naming,
            "seed": seed,
        },
    )
