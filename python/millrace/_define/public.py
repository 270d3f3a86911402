"""What a program says ``millrace.`` in front of to define a feed. Some names are those of Python's own
types."""

from .._generated import sources as _sources
from .._generated.operators import cutmix, mixup, mosaic
from .._generated.sources import *  # noqa: F403 - the formats
from .blend import blend, blend_list
from .dataset import dataset
from .feed import BESIDE, Builder, megatron, sequential, shuffle, weighted
from .fields import Field, boxes, category, image, mask, npy, points, text, vector
from .fields import bytes_ as bytes
from .fields import float_ as float
from .fields import int_ as int
from .fields import json_ as json
from .sources import (
    concat,
    files,
    folder,
    kernel,
    source,
    split,
    subset,
    synthetic,
)
from .sources import zip_ as zip
from .tokens import chat, tokens
from .torchvision import ImageFolder, TranslationError, from_torchvision

__all__ = [
    "blend",
    "blend_list",
    "boxes",
    "Builder",
    "bytes",
    "category",
    "chat",
    "concat",
    "cutmix",
    "dataset",
    "Field",
    "files",
    "float",
    "folder",
    "from_torchvision",
    "image",
    "ImageFolder",
    "int",
    "json",
    "kernel",
    "mask",
    "megatron",
    "mixup",
    "mosaic",
    "npy",
    "points",
    "sequential",
    "shuffle",
    "source",
    "split",
    "subset",
    "synthetic",
    "text",
    "tokens",
    "TranslationError",
    "vector",
    "weighted",
    "zip",
]
__all__ += _sources.__all__
BESIDE.update(__all__)
