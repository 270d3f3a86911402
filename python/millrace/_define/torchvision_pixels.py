"""torchvision's transforms that move or colour pixels, each as an operator of ours. One small function a
transform."""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

from .torchvision_picture import Cannot, Picture

#: By torchvision's names, and by PIL's numbers.
_FILTERS = {
    **{"nearest": "nearest", "bilinear": "bilinear", "bicubic": "bicubic"},
    **{"0": "nearest", "2": "bilinear", "3": "bicubic"},
}


def _filter(step: Any, known: Tuple[str, ...] = ("nearest", "bilinear", "bicubic")) -> str:
    mode = getattr(step.interpolation, "value", step.interpolation)
    name = _FILTERS.get(str(mode).lower())
    if name not in known:
        raise Cannot(f"interpolation {mode} is not to be had here", f"take one of {', '.join(known)}")
    return name


def _fill(picture: Picture, step: Any) -> Any:
    """``fill`` in 0…255. None is black."""
    fill = step.fill
    if isinstance(fill, dict):
        raise Cannot("fill by type of input is not to be had", "give one number or one for each channel")
    if fill is None:
        return 0
    values = [picture.in_bytes(v) for v in (fill if isinstance(fill, (list, tuple)) else [fill])]
    return values[0] if len(set(values)) == 1 else values


def _both(size: Any) -> Any:
    """An int, [s] or (height, width)."""
    if isinstance(size, int):
        return size
    return size[0] if len(size) == 1 else list(size)


def _square(size: Any) -> Any:
    """The same where [s] and (s, s) mean a square."""
    size = _both(size)
    return size if isinstance(size, int) or size[0] != size[1] else size[0]


# ------------------------------------------------------------------ geometry


def resize(picture: Picture, step: Any) -> None:
    picture.moves()
    if step.size is None:
        raise Cannot(
            "a size of the longer side alone is not to be had", "give both sides, or a crop after it"
        )
    max_size = getattr(step, "max_size", None)
    more = {} if max_size is None else {"max_size": max_size}
    picture.pixels = picture.pixels.resize(_both(step.size), **_resampling(picture, step), **more)


def _resampling(picture: Picture, step: Any) -> Dict[str, Any]:
    written: Dict[str, Any] = {}
    name = _filter(step)
    if name != "bilinear":
        written["filter"] = name
    # On PIL images torchvision always smooths, whatever it is told.
    if picture.tensor and getattr(step, "antialias", True) is False:
        written["antialias"] = False
    return written


def center_crop(picture: Picture, step: Any) -> None:
    picture.moves()
    picture.pixels = picture.pixels.center_crop(_square(step.size))


def random_crop(picture: Picture, step: Any) -> None:
    padded = bool(step.padding) or step.pad_if_needed
    picture.moves(commutes=not padded)
    written: Dict[str, Any] = {}
    if step.padding:
        written["padding"] = _sides(step)
    if step.pad_if_needed:
        written["pad_if_needed"] = True
    if padded:
        written.update(_border(picture, step))
    picture.pixels = picture.pixels.random_crop(_square(step.size), **written)


def _sides(step: Any) -> Any:
    """The padding of RandomCrop as it was given: v2 keeps it as [left, right, top, bottom]."""
    if ".v2." not in type(step).__module__:
        return step.padding
    left, right, top, bottom = step.padding
    return [left, top, right, bottom]


def _border(picture: Picture, step: Any) -> Dict[str, Any]:
    written: Dict[str, Any] = {}
    fill = _fill(picture, step)
    if fill != 0:
        written["fill"] = fill
    mode = getattr(step.padding_mode, "value", step.padding_mode)
    if mode != "constant":
        written["mode"] = mode
    return written


def random_resized_crop(picture: Picture, step: Any) -> None:
    picture.moves()
    picture.pixels = picture.pixels.random_resized_crop(
        _square(step.size), scale=step.scale, ratio=step.ratio, **_resampling(picture, step)
    )


def pad(picture: Picture, step: Any) -> None:
    picture.moves()
    picture.pixels = picture.pixels.pad(step.padding, **_border(picture, step))


def flip(axis: str) -> Callable[[Picture, Any], None]:
    def translate(picture: Picture, step: Any) -> None:
        picture.moves(commutes=True)
        more: Dict[str, Any] = {} if axis == "horizontal" else {"axis": axis}
        picture.pixels = picture.pixels.flip(step.p, **more)

    return translate


def _warping(picture: Picture, step: Any) -> Dict[str, Any]:
    if step.center is not None:
        raise Cannot("a center is not to be had", "leave it out: pictures turn about their middle")
    written = {"filter": _filter(step, ("nearest", "bilinear"))}
    fill = _fill(picture, step)
    return written if fill == 0 else {**written, "fill": fill}


def rotation(picture: Picture, step: Any) -> None:
    picture.moves()
    if step.expand:
        raise Cannot(
            "expand=True gives every picture another size", "leave it out, or Pad before and crop after"
        )
    picture.pixels = picture.pixels.rotate(step.degrees, **_warping(picture, step))


def affine(picture: Picture, step: Any) -> None:
    picture.moves()
    more = {
        name: getattr(step, name)
        for name in ("translate", "scale", "shear")
        if getattr(step, name) is not None
    }
    picture.pixels = picture.pixels.affine(step.degrees, **more, **_warping(picture, step))


def _fetching(picture: Picture, step: Any) -> Dict[str, Any]:
    name = _filter(step, ("nearest", "bilinear"))
    more: Dict[str, Any] = {} if name == "bilinear" else {"filter": name}
    fill = _fill(picture, step)
    return more if fill == 0 else {**more, "fill": fill}


def perspective(picture: Picture, step: Any) -> None:
    picture.moves()
    more = _fetching(picture, step)
    picture.pixels = picture.pixels.perspective(step.distortion_scale, p=step.p, **more)


def elastic(picture: Picture, step: Any) -> None:
    picture.moves()
    more = _fetching(picture, step)
    picture.pixels = picture.pixels.elastic(list(step.alpha), sigma=list(step.sigma), **more)


def zoom_out(picture: Picture, step: Any) -> None:
    picture.moves()
    fill = _fill(picture, step)
    more: Dict[str, Any] = {} if fill == 0 else {"fill": fill}
    picture.pixels = picture.pixels.zoom_out(list(step.side_range), p=step.p, **more)


def iou_crop(picture: Picture, step: Any) -> None:
    """The boxes that it looks at are the feed's: a field that follows the image."""
    picture.moves(commutes=True)
    picture.pixels = picture.pixels.iou_crop(
        [step.min_scale, step.max_scale],
        ratio=[step.min_aspect_ratio, step.max_aspect_ratio],
        overlaps=list(step.options),
        trials=step.trials,
    )


def scale_jitter(picture: Picture, step: Any) -> None:
    picture.moves()
    width, height = step.target_size  # torchvision's order here, unlike elsewhere
    picture.pixels = picture.pixels.scale_jitter(
        _square([height, width]), scale=list(step.scale_range), **_resampling(picture, step)
    )


# ------------------------------------------------------------------ colour


def grayscale(picture: Picture, step: Any) -> None:
    picture.moves()
    if step.num_output_channels != 3:
        raise Cannot(
            "translated pictures keep three channels",
            "use Grayscale(num_output_channels=3), and x[:, :1] in the loop; or, where it comes first, "
            "build the field with millrace.image(column, channels=1)",
        )
    picture.pixels = picture.pixels.grayscale()


def gaussian_blur(picture: Picture, step: Any) -> None:
    picture.moves()
    picture.pixels = picture.pixels.gaussian_blur(_square(step.kernel_size), sigma=step.sigma)


def plain(name: str, parameters: Dict[str, str], needs: Dict[str, Any]) -> Callable[[Picture, Any], None]:
    """An operator whose parameters are attributes of the transform. ``in bytes``: one is a value of pixels.
    ``needs``: what other attributes must be."""

    def translate(picture: Picture, step: Any) -> None:
        picture.moves()
        for attribute, needed in needs.items():
            if getattr(step, attribute) != needed:
                raise Cannot(
                    f"{attribute}={getattr(step, attribute)} is not to be had", f"use {attribute}={needed}"
                )
        written = {}
        for key, source in parameters.items():
            attribute, in_bytes, _ = source.partition(" in bytes")
            value = getattr(step, attribute)
            written[key] = picture.in_bytes(value) if in_bytes else value
        picture.pixels = getattr(picture.pixels, name)(**written)

    return translate


def _augmenting(picture: Picture, step: Any) -> Dict[str, Any]:
    picture.moves()
    name = _filter(step, ("nearest", "bilinear"))
    more: Dict[str, Any] = {} if name == "nearest" else {"filter": name}
    return more if step.fill is None else {**more, "fill": _fill(picture, step)}


def trivial_augment(picture: Picture, step: Any) -> None:
    more = _augmenting(picture, step)
    picture.pixels = picture.pixels.trivial_augment(step.num_magnitude_bins, **more)


def rand_augment(picture: Picture, step: Any) -> None:
    more = _augmenting(picture, step)
    picture.pixels = picture.pixels.rand_augment(
        step.num_ops, magnitude=step.magnitude, bins=step.num_magnitude_bins, **more
    )


def auto_augment(picture: Picture, step: Any) -> None:
    more = _augmenting(picture, step)
    policy = getattr(step.policy, "value", step.policy)
    picture.pixels = picture.pixels.auto_augment(policy, **more)
