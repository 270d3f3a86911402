"""A picture on its way through torchvision's transforms, and what makes numbers of its bytes."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from .fields import Dtype, ImageField

_INTEGERS = ("u8",)
_DTYPES: Dict[str, Dtype] = {
    "torch.uint8": "u8",
    "torch.float16": "f16",
    "torch.bfloat16": "bf16",
    "torch.float32": "f32",
    "torch.float64": "f64",
}


class Cannot(Exception):
    """Why a transform can't be translated, and what to do."""

    def __init__(self, why: str, instead: str):
        super().__init__(f"{why}; {instead}")


class Picture:
    """A picture on its way through the transforms.

    The engine works on bytes (0…255) until the row is written; then it scales, normalises and erases, in this
    order. torchvision may change to floats anywhere, so what its numbers mean at this point is followed here.
    """

    def __init__(self, field: ImageField):
        self.pixels = field
        #: What one byte is in torchvision's numbers at this point: 1 for bytes, 1/255 for floats of 0…1.
        self.unit = 1.0
        #: Whether torchvision has a tensor by now: some parameters count only then.
        self.tensor = False
        self.dtype: Dtype = "u8"
        self.mean_std: Optional[Tuple[List[float], List[float]]] = None
        self.erasing: Optional[Dict[str, Any]] = None

    @property
    def is_float(self) -> bool:
        return self.dtype not in _INTEGERS

    def moves(self, commutes: bool = False) -> None:
        """Called for an operator on pixels: these come before normalising and erasing, unless the order is
        all one."""
        if self.erasing is not None:
            raise Cannot("the engine erases last", "put RandomErasing at the end")
        if self.mean_std is not None and not commutes:
            raise Cannot("the engine normalises after all changes of pixels", "put it before Normalize")

    def in_bytes(self, value: float) -> float:
        """A value in torchvision's present numbers as 0…255."""
        return value / self.unit

    def field(self) -> ImageField:
        """The field that does all of it."""
        field = self.pixels
        if self.mean_std is not None:
            field = field.normalize(mean=self.mean_std[0], std=self.mean_std[1])
            if self.dtype != "f32":
                field = field.dtype(self.dtype)
        elif self.is_float:
            if self.unit == 1:
                raise Cannot(
                    "floats of 0…255 without Normalize are not to be had",
                    "use ToDtype(torch.float32, scale=True), or leave ToDtype out and convert on the device",
                )
            field = field.dtype(self.dtype)
        return field if self.erasing is None else field.random_erasing(**self.erasing)


def to_tensor(picture: Picture, step: Any) -> None:
    picture.tensor = True
    if not picture.is_float:
        picture.dtype, picture.unit = "f32", 1 / 255


def as_tensor(picture: Picture, step: Any) -> None:
    picture.tensor = True


def convert(picture: Picture, step: Any) -> None:
    """ConvertImageDtype and ToDtype; the former always scales."""
    if isinstance(step.dtype, dict):
        raise Cannot("a dtype for each type of input is not to be had", "give the image's alone")
    dtype = _DTYPES.get(str(step.dtype))
    if dtype is None:
        raise Cannot(f"{step.dtype} is not to be had from it", f"take one of {', '.join(_DTYPES)}")
    if picture.mean_std is not None or picture.erasing is not None:
        if dtype in _INTEGERS:
            raise Cannot("normalised values don't fit into bytes", "leave it out")
        picture.dtype = dtype
        return
    scales = getattr(step, "scale", True)
    if scales and picture.is_float and picture.unit == 1:
        raise Cannot("it would take 0…255 for 0…1", "use one ToDtype(torch.float32, scale=True)")
    if scales:
        picture.unit = 1.0 if dtype in _INTEGERS else 1 / 255
    elif dtype in _INTEGERS and picture.unit != 1:
        raise Cannot("without scale it would make zeros of floats", "give scale=True")
    picture.dtype = dtype


def normalize(picture: Picture, step: Any) -> None:
    if picture.mean_std is not None:
        raise Cannot("the picture is normalised already", "keep one Normalize")
    if not picture.is_float:
        raise Cannot(
            "the picture is still of bytes here",
            "put ToTensor() or ToDtype(torch.float32, scale=True) before it",
        )
    in_unit = 1 / 255 / picture.unit  # 1 where torchvision's numbers are 0…1
    mean, std = ([float(v) * in_unit for v in values] for values in (step.mean, step.std))
    mean, std = (values * 3 if len(values) == 1 else values for values in (mean, std))
    if picture.erasing is not None:
        if picture.erasing.get("value") == "random":
            raise Cannot("the noise of RandomErasing would be normalised", "put RandomErasing after it")
        value = picture.erasing.get("value", [0.0])
        value = value * 3 if len(value) == 1 else value
        picture.erasing["value"] = [(v * in_unit - m) / s for v, m, s in zip(value, mean, std)]
    picture.mean_std = (mean, std)


def random_erasing(picture: Picture, step: Any) -> None:
    if picture.erasing is not None:
        raise Cannot("the picture is erased already", "keep one RandomErasing")
    value = step.value
    if value is None or isinstance(value, str):
        value = "random"
    elif not isinstance(value, (list, tuple)):
        value = [float(value)]
    erasing = {"p": step.p, "scale": step.scale, "ratio": step.ratio}
    if value == "random" or any(v != 0 for v in value):
        erasing["value"] = value if value == "random" or len(value) > 1 else list(value) * 3
    picture.erasing = erasing


def nothing(picture: Picture, step: Any) -> None:
    """Does nothing to a picture of three channels."""


def to_pil(picture: Picture, step: Any) -> None:
    if picture.is_float or picture.mean_std is not None:
        raise Cannot("there is no way back to PIL from floats", "leave it out")
