"""Looking at a batch: pictures in a grid, with what the other fields say about them."""

from __future__ import annotations

import math
import os
from typing import Any, Iterable, List, Mapping, Optional, Tuple

import numpy as np

from .._stream.run import Run
from ..batch import Batch
from ..errors import MillraceError
from .png import png

#: Mean and deviation that ``normalize: "imagenet"`` takes off, on a scale of 0 to 1.
IMAGENET = (np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225]))
#: Pixels between the pictures of a PNG.
GAP = 2


def show(run: Run, epochs: Iterable[Batch], definition: Any, count: int, path: Optional[str]) -> Any:
    """Draws the first batch of a run of its own."""
    batch = next(iter(epochs), None)
    if batch is None:
        raise MillraceError(f"{run.name} has no batch to show")
    name, layout, operators = _picture_field(run, definition)
    pictures = [to_pixels(row, layout, operators) for row in batch[name][:count]]
    captions = [_caption(batch, name, i) for i in range(len(pictures))]
    if path is None:
        figure = _with_matplotlib(pictures, captions)
        if figure is not None:
            return figure
    path = os.path.expanduser(path or "millrace.png")
    with open(path, "wb") as file:
        file.write(png(_grid(pictures)))
    for i, caption in enumerate(captions):
        print(f"{i}: {caption}")
    print(f"pictures are in {path}")
    return path


def _picture_field(run: Run, definition: Any) -> Tuple[str, str, Any]:
    """The first field of pictures: its name, its layout, and what is applied to it, where that is known."""
    known = definition if isinstance(definition, Mapping) else {}
    for field in run.fields:
        if field.layout in ("chw", "hwc") and len(field.shape) == 3:
            return field.name, field.layout, known.get("fields", {}).get(field.name, {}).get("apply", ())
    raise MillraceError(f"{run.name} has no field of pictures to show")


def to_pixels(row: Any, layout: str, operators: Any) -> Any:
    """One picture as u8 [height, width, 3], its normalisation taken back."""
    pixels = np.moveaxis(row, 0, -1) if layout == "chw" else row
    if pixels.dtype != np.uint8:
        pixels = pixels.astype(np.float64)
        mean, deviation = _normalisation(operators)
        if mean is not None:
            pixels = pixels * deviation + mean
        else:
            # Nothing is known of its scale: as it is when it is one, stretched when it is none.
            low, high = float(pixels.min(initial=0)), float(pixels.max(initial=0))
            if low < 0 or high > 1:
                pixels = pixels / 255 if low >= 0 and high <= 255 else (pixels - low) / max(high - low, 1e-12)
        pixels = np.clip(pixels * 255 + 0.5, 0, 255).astype(np.uint8)
    if pixels.shape[-1] == 1:
        pixels = np.repeat(pixels, 3, axis=-1)
    return np.ascontiguousarray(pixels[..., :3])


def _normalisation(operators: Any) -> Tuple[Any, Any]:
    for operator in operators or ():
        how = operator.get("normalize") if isinstance(operator, Mapping) else None
        if how == "imagenet":
            return IMAGENET
        if isinstance(how, Mapping) and "mean" in how and "std" in how:
            return np.asarray(how["mean"], float), np.asarray(how["std"], float)
    return None, None


def _caption(batch: Batch, picture: str, i: int) -> str:
    """What the small fields say about a row, and its name."""
    said: List[str] = []
    for name, value in batch.items():
        if name == picture:
            continue
        if isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim == 1):
            said.append(f"{name} {value[i]}")
    ids = batch.ids
    return ", ".join([*said, ids[i]] if i < len(ids) else said)


def _grid(pictures: List[Any]) -> Any:
    columns = max(1, math.ceil(math.sqrt(len(pictures))))
    height = max((p.shape[0] for p in pictures), default=0) + GAP
    width = max((p.shape[1] for p in pictures), default=0) + GAP
    grid = np.full(
        (math.ceil(len(pictures) / columns) * height + GAP, columns * width + GAP, 3), 255, np.uint8
    )
    for i, picture in enumerate(pictures):
        top, left = i // columns * height + GAP, i % columns * width + GAP
        grid[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return grid


def _with_matplotlib(pictures: List[Any], captions: List[str]) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return None
    columns = max(1, math.ceil(math.sqrt(len(pictures))))
    lines = math.ceil(len(pictures) / columns)
    figure, axes = plt.subplots(lines, columns, figsize=(2.2 * columns, 2.4 * lines), squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, picture, caption in zip(axes.flat, pictures, captions):
        axis.imshow(picture)
        axis.set_title(caption, fontsize=7)
    figure.tight_layout()
    return figure
