"""The builders of the sources of tokens."""

from __future__ import annotations

from typing import Any, Literal, Mapping, Optional

from .feed import Builder, source_json
from .source import Paths, one_or_more, source_of
from .sources import Source

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
    return source_of(
        "tokens",
        {
            "path": one_or_more(paths, "tokens"),
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


def chat(
    source: Source,
    *,
    tokenizer: str,
    length: int,
    template: Optional[str] = None,
    train: Optional[Literal["assistant", "last", "completion", "all"]] = None,
    contents: Optional[Literal["parse", "text"]] = None,
    now: Optional[str] = None,
    variables: Optional[Mapping[str, Any]] = None,
    pack: Optional[Literal["best_fit", "bestFit", "document"]] = None,
    pairs: Optional[bool] = None,
    shift: Optional[Literal["here", "model"]] = None,
    long: Optional[Literal["split", "truncate", "drop"]] = None,
    ragged: Optional[bool] = None,
    documents: Optional[Mapping[str, Any]] = None,
    name: Optional[str] = None,
    capacity: Optional[int] = None,
    varlen: Optional[Literal["megatron"]] = None,
    naming: Optional[Literal["hf"]] = None,
) -> Builder:
    """Conversations as packed rows of tokens, by a model's tokenizer and chat template:
    ``chat(jsonl("chat.jsonl"), tokenizer="model", length=2048).shuffle(seed=7).batch(8)``.

    Samples have ``messages`` (and ``tools``), ``prompt`` and ``completion``, or ``conversations``. Only what
    the assistant wrote is a target; ``train`` says otherwise. ``now`` is the date for templates that write
    one. ``pairs=True``: samples have ``chosen`` and ``rejected``, and the feed has these and ``prompt``, each
    of its own length. ``naming="hf"`` gives the names of Hugging Face and TRL; docs/language-models.md has
    the rest."""
    return source_of(
        "chat",
        {
            "source": source_json(source, "chat"),
            "tokenizer": tokenizer,
            "template": template,
            "train": train,
            "contents": contents,
            "now": now,
            "variables": variables,
            "length": length,
            "pack": "bestFit" if pack == "best_fit" else pack,
            "pairs": pairs,
            "shift": shift,
            "long": long,
            "ragged": ragged,
            "documents": documents,
            "name": name,
            "capacity": capacity,
            "varlen": varlen,
            "naming": naming,
        },
    )
