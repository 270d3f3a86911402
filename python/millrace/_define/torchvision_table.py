"""Each torchvision transform, by name: the function that translates it, or why there is none and what to
do. Those that are read by their attributes alone stand with the operators themselves (PLAIN)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable, Dict, Optional, Tuple

from .._generated.torchvision_names import PLAIN
from . import torchvision_picture as values
from . import torchvision_pixels as pixels
from .torchvision_picture import Picture


def _classification(picture: Picture, step: Any) -> None:
    """The preset that comes with pretrained weights: ``ResNet50_Weights.DEFAULT.transforms()``."""
    how = {"interpolation": step.interpolation, "antialias": step.antialias}
    pixels.resize(picture, SimpleNamespace(size=step.resize_size, **how))
    pixels.center_crop(picture, SimpleNamespace(size=step.crop_size))
    values.to_tensor(picture, step)
    values.normalize(picture, step)


_TRANSLATORS: Dict[str, Callable[[Picture, Any], None]] = {
    "Resize": pixels.resize,
    "CenterCrop": pixels.center_crop,
    "RandomCrop": pixels.random_crop,
    "RandomResizedCrop": pixels.random_resized_crop,
    "Pad": pixels.pad,
    "RandomHorizontalFlip": pixels.flip("horizontal"),
    "RandomVerticalFlip": pixels.flip("vertical"),
    "RandomRotation": pixels.rotation,
    "RandomAffine": pixels.affine,
    "RandomPerspective": pixels.perspective,
    "ElasticTransform": pixels.elastic,
    "RandomZoomOut": pixels.zoom_out,
    "RandomIoUCrop": pixels.iou_crop,
    "ScaleJitter": pixels.scale_jitter,
    "Grayscale": pixels.grayscale,
    "GaussianBlur": pixels.gaussian_blur,
    "TrivialAugmentWide": pixels.trivial_augment,
    "RandAugment": pixels.rand_augment,
    "AutoAugment": pixels.auto_augment,
    "ToTensor": values.to_tensor,
    "ToImage": values.as_tensor,
    "ToImageTensor": values.as_tensor,
    "PILToTensor": values.as_tensor,
    "ToPureTensor": values.as_tensor,
    "ConvertImageDtype": values.convert,
    "ToDtype": values.convert,
    "Normalize": values.normalize,
    "RandomErasing": values.random_erasing,
    "Identity": values.nothing,
    "ClampBoundingBoxes": values.nothing,
    "RGB": values.nothing,
    "ToPILImage": values.to_pil,
    "ImageClassification": _classification,
}

_IN_THE_LOOP = "leave it out, and apply it to the batch on the device (transforms of v2 take whole batches)"
_REFUSED: Dict[str, Tuple[str, str]] = {
    "Lambda": ("the engine can't look into a function", _IN_THE_LOOP),
    "RandomApply": (
        "the engine has no chance over several operators",
        "give the transforms inside it their own p; one that has none, such as ColorJitter, apply to the "
        "batch on the device",
    ),
    "RandomChoice": (
        "the engine has no choice among operators",
        "take TrivialAugmentWide, or keep one of them",
    ),
    "RandomOrder": ("operators are applied in their order", "take Compose"),
    "AugMix": ("the engine has no such policy", "take TrivialAugmentWide, which needs no tuning"),
    "FiveCrop": ("a sample is one picture", "take CenterCrop, or make several feeds"),
    "TenCrop": ("a sample is one picture", "take CenterCrop, or make several feeds"),
    "MixUp": ("it works on whole batches", "use .batch(..., apply=[millrace.mixup(classes=...)])"),
    "CutMix": ("it works on whole batches", "use .batch(..., apply=[millrace.cutmix(classes=...)])"),
    "RandomShortestSize": ("rows of a batch are of one size", "take RandomResizedCrop"),
    "RandomResize": ("rows of a batch are of one size", "take RandomResizedCrop"),
    "SanitizeBoundingBoxes": (
        "fields of boxes drop their own",
        "leave it out, and use millrace.boxes(...).follow('image').min_area(1)",
    ),
    "ConvertBoundingBoxFormat": ("boxes are [x1, y1, x2, y2]", "store them so, and leave it out"),
}


def _known(step: Any) -> bool:
    """Whether it is torchvision's own class: a user's subclass may do anything."""
    module = type(step).__module__
    return module.startswith("torchvision.transforms") or module.startswith("torch.nn.modules")


def translator_of(step: Any) -> Optional[Callable[[Picture, Any], None]]:
    """The function that translates this transform; None where there is none."""
    if not _known(step):
        return None
    name = type(step).__name__
    return pixels.plain(*PLAIN[name]) if name in PLAIN else _TRANSLATORS.get(name)


def advice_for(step: Any) -> Tuple[str, str]:
    """Why a transform without translator can't be had, and what to do."""
    if not _known(step):
        return "it is not one of torchvision's own", _IN_THE_LOOP
    return _REFUSED.get(type(step).__name__, ("the engine has no such operator", _IN_THE_LOOP))
