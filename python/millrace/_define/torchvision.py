"""Coming from torchvision: its transforms as a field of ours, and its ImageFolder as a feed.

Transforms are recognised by name and read by their attributes, of both generations (``transforms`` and
``transforms.v2``); torchvision itself is never imported. What can't be translated is named, with why and what
to do, all of it at once.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterator, List, Literal, Optional, Sequence, Union

from ..errors import DefinitionError
from .feed import Builder
from .fields import ImageField, image, int_
from .torchvision_picture import Cannot, Picture
from .torchvision_table import advice_for, translator_of


class TranslationError(DefinitionError):
    """Some transforms have no counterpart in the engine. ``problems`` has one sentence for each."""

    def __init__(self, problems: List[str], count: int):
        self.problems = problems
        some = f"{len(problems)} of {count} transforms" if count > 1 else "the transform"
        super().__init__(f"{some} can't be translated:\n  " + "\n  ".join(problems))


def from_torchvision(transform: Any, column: str = "image") -> ImageField:
    """A torchvision transform, or a Compose of them, as a field that reads ``column`` (for tar shards
    ``"jpg"``).

    Raises :class:`TranslationError` with all transforms that have no counterpart.
    """
    picture = Picture(image(column))
    problems: List[str] = []
    steps = list(_flat(transform))
    for step in steps:
        try:
            translate = translator_of(step)
            if translate is None:
                raise Cannot(*advice_for(step))
            translate(picture, step)
        except Cannot as cannot:
            problems.append(f"{_shown(step)}: {cannot}")
    if not problems:
        try:
            return picture.field()
        except Cannot as cannot:
            problems.append(str(cannot))
    raise TranslationError(problems, len(steps))


class ImageFolder(Builder):
    """torchvision's ``ImageFolder`` as a feed with the fields ``image`` and ``label``: go on with
    ``.shuffle().batch(256)``.

    Classes are the subfolders, hidden ones too, numbered in the order of their names. As in torchvision, one
    without a picture is refused when the feed is opened, unless ``allow_empty`` is set; and a relative root
    is relative to the working directory. ``classes`` names them, in the order of their numbers, instead: then
    a class without a picture, or without a folder, keeps its number. Photographs are turned upright by EXIF;
    ``orientation="stored"`` leaves them as torchvision does.
    """

    def __init__(
        self,
        root: Union[str, os.PathLike[str]],
        transform: Any = None,
        target_transform: Optional[Callable[[Any], Any]] = None,
        *,
        allow_empty: bool = False,
        classes: Optional[Sequence[str]] = None,
        orientation: Optional[Literal["exif", "stored"]] = None,
    ):
        if target_transform is not None:
            raise TypeError("target_transform: apply it to batch['label'] in the training loop")
        path = os.path.expanduser(os.fspath(root))
        field = image("image") if transform is None else from_torchvision(transform)
        field = field if orientation is None else field.orientation(orientation)
        self._classes = _class_folders(path) if classes is None else list(classes)
        given = allow_empty or classes is not None
        super().__init__(
            {
                "source": {"folder": {"path": path, "classes": self._classes} if given else path},
                "fields": {"image": field.json(), "label": int_("label").json()},
            }
        )

    @property
    def classes(self) -> List[str]:
        """The names of the classes, in the order of their numbers."""
        return list(self._classes)

    @property
    def class_to_idx(self) -> Dict[str, int]:
        """The number of each class."""
        return {name: number for number, name in enumerate(self.classes)}


def _class_folders(root: str) -> List[str]:
    with os.scandir(root) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir())
    if all(name.startswith(".") for name in names):
        raise FileNotFoundError(
            f"{root} has no class folders; for a plain list of images use millrace.folder({root!r})"
        )
    return names


def _flat(transform: Any) -> Iterator[Any]:
    """The transforms in a row: those of Compose and nn.Sequential, however nested, one after the other."""
    kind = type(transform).__name__
    if isinstance(transform, (list, tuple)):
        inner = transform
    elif kind == "Compose" and hasattr(transform, "transforms"):
        inner = transform.transforms
    elif kind == "Sequential" and hasattr(transform, "children"):
        inner = transform.children()
    else:
        yield transform
        return
    for step in inner:
        yield from _flat(step)


def _shown(step: Any) -> str:
    text = " ".join(repr(step).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
