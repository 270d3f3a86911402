"""Builders of sources of records: TFRecord."""

from __future__ import annotations

from typing import Optional

from .feed import Builder
from .sources import Paths, _source, _with_options


def tfrecord(*paths: Paths, check: Optional[bool] = None) -> Builder:
    """TFRecord files: paths or patterns such as ``train-*.tfrecord``. The features of a tf.Example are
    columns, and ``record`` is the record as it lies there. ``check=False`` compares no checksums of data."""
    return _source("tfrecord", _with_options(paths, "tfrecord", {"check": check}))
