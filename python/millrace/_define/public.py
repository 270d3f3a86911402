"""What a program says ``millrace.`` in front of to define a feed. Some names are those of Python's own
types."""

from .._generated.operators import cutmix, mixup, mosaic
from .blend import blend, blend_list
from .dataset import dataset
from .feed import BESIDE, Builder, megatron, sequential, shuffle, weighted
from .fields import Field, boxes, category, image, mask, npy, points, text, vector
from .fields import bytes_ as bytes
from .fields import float_ as float
from .fields import int_ as int
from .fields import json_ as json
from .records import litdata, mds, tfrecord
from .sources import (
    arrow,
    concat,
    csv,
    files,
    folder,
    hdf5,
    jsonl,
    kernel,
    netcdf4,
    npy_files,
    npz,
    parquet,
    safetensors,
    source,
    split,
    subset,
    synthetic,
    tar,
    text_lines,
    zarr,
)
from .sources import zip_ as zip
from .tokens import chat, tokens
from .torchvision import ImageFolder, TranslationError, from_torchvision

__all__ = [
    "arrow",
    "blend",
    "blend_list",
    "boxes",
    "Builder",
    "bytes",
    "category",
    "chat",
    "concat",
    "csv",
    "cutmix",
    "dataset",
    "Field",
    "files",
    "float",
    "folder",
    "from_torchvision",
    "hdf5",
    "image",
    "ImageFolder",
    "int",
    "json",
    "jsonl",
    "kernel",
    "litdata",
    "mask",
    "mds",
    "megatron",
    "mixup",
    "mosaic",
    "netcdf4",
    "npy",
    "parquet",
    "npy_files",
    "npz",
    "points",
    "safetensors",
    "sequential",
    "shuffle",
    "source",
    "split",
    "subset",
    "synthetic",
    "tar",
    "text",
    "text_lines",
    "tfrecord",
    "tokens",
    "TranslationError",
    "vector",
    "weighted",
    "zarr",
    "zip",
]
BESIDE.update(__all__)
