"""Builders of sources of records: TFRecord, MDS, LitData."""

from __future__ import annotations

from typing import Optional

from .feed import Builder
from .sources import Paths, _one_or_more, _source, _with_options


def tfrecord(*paths: Paths, check: Optional[bool] = None) -> Builder:
    """TFRecord files: paths or patterns such as ``train-*.tfrecord``. The features of a tf.Example are
    columns, and ``record`` is the record as it lies there. ``check=False`` compares no checksums of data."""
    return _source("tfrecord", _with_options(paths, "tfrecord", {"check": check}))


def mds(*paths: Paths) -> Builder:
    """MDS, the format of Mosaic's streaming: folders with an ``index.json``."""
    return _source("mds", _one_or_more(paths, "mds"))


def litdata(*paths: Paths, block: Optional[int] = None) -> Builder:
    """LitData: folders with an ``index.json``. ``block``: of chunks of tokens, how many a sample has."""
    return _source("litdata", _with_options(paths, "litdata", {"block": block}))
