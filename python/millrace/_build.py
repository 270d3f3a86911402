"""What a program says ``millrace.`` in front of to define a feed. Some names are those of Python's own
types."""

from ._build_feed import Builder, sequential, shuffle, weighted
from ._build_fields import Field, boxes, category, image, mask, npy, points, text
from ._build_fields import bytes_ as bytes
from ._build_fields import float_ as float
from ._build_fields import int_ as int
from ._build_fields import json_ as json
from ._build_sources import blend, concat, files, folder, kernel, split, subset, synthetic, tar
from ._build_sources import zip_ as zip
from ._dataset import dataset
from ._operators import cutmix, mixup, mosaic
from ._torchvision import ImageFolder, TranslationError, from_torchvision

__all__ = [
    "blend",
    "boxes",
    "Builder",
    "bytes",
    "category",
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
    "mixup",
    "mosaic",
    "npy",
    "points",
    "sequential",
    "shuffle",
    "split",
    "subset",
    "synthetic",
    "tar",
    "text",
    "TranslationError",
    "weighted",
    "zip",
]
