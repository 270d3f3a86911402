"""Golden results of torchvision v2 on uint8 tensors, for packages/pixels/test/transform/golden.test.ts.

    python3 make.py        # writes cases.json, follow.json, mix.json and *.bin beside itself

Pictures are raw bytes, rows top to bottom, channels interleaved. `cases.json` says what was done to which
input, in the words of a feed definition (`ops`), or as the numbers torchvision's functional was given.
"""
import json
import pathlib
import platform

import numpy as np
import PIL
import torch
import torchvision
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode
from torchvision.transforms import v2
from torchvision.transforms.functional import _get_perspective_coeffs
from torchvision.transforms.v2 import functional as F

HERE = pathlib.Path(__file__).parent
FILTER = {"nearest": InterpolationMode.NEAREST, "bilinear": InterpolationMode.BILINEAR}
torch.manual_seed(0)


def picture(height, width, channels, seed):
    """Smooth gradients, hard edges and some noise; not the full range of values, so that autocontrast has work."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(channels):
        plane = 110 + 70 * np.sin(x / (5 + 2 * c) + c) * np.cos(y / (7 - c)) + rng.normal(0, 12, (height, width))
        plane[height // 3 : height // 2, width // 4 : width // 2] = 30 + 90 * c
        planes.append(plane)
    return torch.from_numpy(np.clip(np.stack(planes), 8, 240).astype(np.uint8))


INPUTS = {"rgb": picture(40, 48, 3, 1), "square": picture(33, 33, 3, 2), "grey": picture(37, 29, 1, 3)}
cases = []


def save(name, tensor):
    np.ascontiguousarray(tensor.permute(1, 2, 0).numpy()).tofile(HERE / f"{name}.bin")
    channels, height, width = tensor.shape
    return {"file": f"{name}.bin", "width": width, "height": height, "channels": channels}


def case(name, given, work, inputs=("rgb", "grey")):
    for key in inputs:
        output = save(f"{name}-{key}", work(INPUTS[key]))
        cases.append({"name": f"{name}-{key}", "input": key, **given, "output": output})


def op(name, **params):
    return {"ops": [{"name": name, "params": params}]}


for f in (0.0, 0.37, 1.63):
    case(f"brightness-{f}", op("colorJitter", brightness=[f, f]), lambda i: F.adjust_brightness(i, f))
    case(f"contrast-{f}", op("colorJitter", contrast=[f, f]), lambda i: F.adjust_contrast(i, f))
    case(f"saturation-{f}", op("colorJitter", saturation=[f, f]), lambda i: F.adjust_saturation(i, f))
    case(f"sharpness-{f}", op("sharpness", factor=f, p=1), lambda i: F.adjust_sharpness(i, f))
for f in (-0.5, -0.13, 0.07, 0.31):
    case(f"hue-{f}", op("colorJitter", hue=[f, f]), lambda i: F.adjust_hue(i, f), ("rgb",))
case("grayscale", op("grayscale", p=1), lambda i: F.rgb_to_grayscale(i, 3), ("rgb",))
case("autocontrast", op("autocontrast", p=1), F.autocontrast)
case("equalize", op("equalize", p=1), F.equalize)
case("invert", op("invert", p=1), F.invert)
for bits in (1, 4, 8):
    case(f"posterize-{bits}", op("posterize", bits=bits, p=1), lambda i: F.posterize(i, bits))
for threshold in (0, 127.5, 200):
    case(f"solarize-{threshold}", op("solarize", threshold=threshold, p=1), lambda i: F.solarize(i, threshold))
for kernel, sigma in ((3, 0.4), (5, 1.3), ([9, 5], 2.0), (23, 3.1)):
    k = [kernel, kernel] if isinstance(kernel, int) else kernel
    case(
        f"blur-{k[0]}x{k[1]}-{sigma}",
        op("gaussianBlur", kernel=kernel, sigma=[sigma, sigma]),
        lambda i: F.gaussian_blur(i, k, [sigma, sigma]),
    )
case("flip-horizontal", op("flip", p=1, axis="horizontal"), F.horizontal_flip)
case("flip-vertical", op("flip", p=1, axis="vertical"), F.vertical_flip)

for size in ([20, 31], [60, 30], [45, 70], [39, 47]):
    case(f"center-{size[0]}x{size[1]}", op("centerCrop", size=size), lambda i: F.center_crop(i, size))
for mode in ("constant", "edge", "reflect", "symmetric"):
    for padding in ([5, 0, 2, 9], [12, 3]):
        case(
            f"pad-{mode}-{len(padding)}",
            op("pad", padding=padding, fill=77, mode=mode),
            lambda i: F.pad(i, padding, fill=77, padding_mode=mode),
        )
case("pad-rgb", op("pad", padding=4, fill=[10, 20, 30], mode="constant"), lambda i: F.pad(i, [4], [10, 20, 30]), ("rgb",))

for how in ("nearest", "bilinear"):
    for angle in (17.3, -101.0, 90, 180):
        case(
            f"rotate-{how}-{angle}",
            op("rotate", degrees=[angle, angle], filter=how, fill=40),
            lambda i: F.rotate(i, angle, FILTER[how], fill=[40]),
            ("rgb", "square") if angle != 90 else ("square",),
        )
    moves = [
        dict(angle=0.0, translate=[7, -3], scale=1.0, shear=[0.0, 0.0]),
        dict(angle=-31.0, translate=[2, 5], scale=0.71, shear=[11.0, -7.0]),
        dict(angle=12.5, translate=[0, 0], scale=1.9, shear=[0.0, 0.0]),
        dict(angle=0.0, translate=[0, 0], scale=1.0, shear=[20.0, 0.0], center=[0, 0]),
    ]
    for n, move in enumerate(moves):
        for fill in (None, [0], [200]):
            center = move.get("center")
            case(
                f"affine-{how}-{n}-{'none' if fill is None else fill[0]}",
                {"affine": {**move, "filter": how, "fill": fill or []}},
                lambda i: F.affine(i, interpolation=FILTER[how], fill=fill, **move),
                ("rgb",),
            )

for order in ([1, 2, 0], [2, 1, 0]):
    case(f"permute-{''.join(map(str, order))}", {"step": {"do": "permute", "order": order}}, lambda i: F.permute_channels(i, order), ("rgb",))

CORNERS = [
    [[5, 3], [40, 0], [47, 39], [0, 30]],
    [[0, 0], [47, 0], [47, 39], [0, 39]],
    [[20, 15], [30, 2], [28, 33], [3, 22]],
]


def coefficients(corners):
    return _get_perspective_coeffs([[0, 0], [47, 0], [47, 39], [0, 39]], corners)


for n, corners in enumerate(CORNERS):
    for how in ("nearest", "bilinear"):
        for fill in (None, [0], [200]):
            given = {"do": "perspective", "coefficients": coefficients(corners), "filter": how, "fill": fill or []}
            case(
                f"perspective-{n}-{how}-{'none' if fill is None else fill[0]}",
                {"step": given, "corners": corners},
                lambda i: F.perspective(i, None, None, FILTER[how], fill, coefficients(corners)),
                ("rgb",),
            )


def noise(seed, plane, height, width):
    """The noise of packages/pixels/transform/picture/elastic.ts."""

    def mix(x):
        x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & np.uint64(0xFFFFFFFF)
        x = ((x ^ (x >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & np.uint64(0xFFFFFFFF)
        return x ^ (x >> np.uint64(16))

    key = mix(np.uint64((seed + plane * 0x9E3779B9) & 0xFFFFFFFF))
    place = np.arange(height * width, dtype=np.uint64)
    bits = mix(((place * np.uint64(0x9E3779B9)) & np.uint64(0xFFFFFFFF)) + key & np.uint64(0xFFFFFFFF))
    return torch.from_numpy(((bits >> np.uint64(8)).astype(np.float64) / 2**23 - 1).astype(np.float32)).view(1, 1, height, width)


def displacement(seed, alpha, sigma, height, width):
    """As ElasticTransform.make_params has it, with that noise."""
    planes = []
    for plane, size in ((0, width), (1, height)):
        shift = noise(seed, plane, height, width)
        if sigma[plane] > 0:
            taps = int(8 * sigma[plane] + 1) | 1
            shift = F.gaussian_blur(shift, [taps, taps], list(sigma))
        planes.append(shift * alpha[plane] / size)
    return torch.concat(planes, 1).permute([0, 2, 3, 1])


ELASTIC = [
    {"seed": 1234567, "alpha": [9.0, 9.0], "sigma": [0.0, 0.0]},
    {"seed": 4000000000, "alpha": [120.0, 60.0], "sigma": [2.0, 1.25]},
    {"seed": 7, "alpha": [150.0, 150.0], "sigma": [2.4, 2.4]},
]
for n, shifts in enumerate(ELASTIC):
    for how in ("nearest", "bilinear"):
        for fill in (None, [200]):
            case(
                f"elastic-{n}-{how}-{'none' if fill is None else fill[0]}",
                {"step": {"do": "elastic", **shifts, "filter": how, "fill": fill or []}},
                lambda i: F.elastic(i, displacement(**shifts, height=i.shape[1], width=i.shape[2]), FILTER[how], fill),
            )

# The changes of TrivialAugment, RandAugment and AutoAugment, at the strengths of their tables.
AUGMENTS = {"wide": v2.TrivialAugmentWide, "narrow": v2.RandAugment, "policy": v2.AutoAugment}
NAMES = {"ShearX": "shearX", "ShearY": "shearY", "TranslateX": "translateX", "TranslateY": "translateY"}
augment = {"strengths": [], "policies": {}}
for space, kind in AUGMENTS.items():
    for change, (strengths, signed) in kind._AUGMENTATION_SPACE.items():
        for bins in (10, 31):
            for height, width in ((40, 48), (224, 224), (333, 501)):
                table = strengths(bins, height, width)
                at = [] if table is None else [float(value) for value in table]
                row = [space, NAMES.get(change, change.lower()), bins, height, width, int(signed), at]
                if row[:3] + row[5:] not in [r[:3] + r[5:] for r in augment["strengths"][-3:]]:
                    augment["strengths"].append(row)
for policy in v2.AutoAugmentPolicy:
    pairs = v2.AutoAugment(policy)._policies
    augment["policies"][policy.value] = [[[NAMES.get(c, c.lower()), p, bin or 0] for c, p, bin in pair] for pair in pairs]
for change, (strengths, signed) in v2.AutoAugment._AUGMENTATION_SPACE.items():
    for how, fill in (("nearest", None), ("bilinear", [120])):
        table = strengths(10, 40, 48)
        strength = 0.0 if table is None else float(table[7]) * (-1 if signed else 1)
        kind = v2.AutoAugment(interpolation=FILTER[how], fill=fill)
        case(
            f"augment-{NAMES.get(change, change.lower())}-{how}",
            {"augment": {"change": NAMES.get(change, change.lower()), "bin": 7, "bins": 10, "filter": how, "fill": fill}},
            lambda i: kind._apply_image_or_video_transform(i, change, strength, FILTER[how], kind._fill),
            ("rgb",),
        )
        if change not in ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"):
            break

for name, tensor in INPUTS.items():
    save(name, tensor)

# ---------------------------------------------------------------- boxes and points
boxes = torch.tensor([[4.0, 5.5, 20.0, 17.0], [0.0, 0.0, 48.0, 40.0], [30.0, 22.0, 47.5, 39.0], [1.0, 30.0, 3.0, 33.0]])
points = torch.tensor([[4.0, 5.5], [0.0, 0.0], [23.0, 19.0], [30.25, 22.5], [47.0, 39.0]])
steps = [
    ({"do": "crop", "x": 3, "y": 4, "width": 30, "height": 28}, lambda t: F.crop(t, 4, 3, 28, 30)),
    ({"do": "crop", "x": -5, "y": -6, "width": 60, "height": 58}, lambda t: F.crop(t, -6, -5, 58, 60)),
    ({"do": "resize", "width": 96, "height": 30}, lambda t: F.resize(t, [30, 96])),
    ({"do": "flip", "axis": "horizontal"}, F.horizontal_flip),
    ({"do": "flip", "axis": "vertical"}, F.vertical_flip),
    ({"do": "pad", "left": 3, "top": 1, "right": 0, "bottom": 7}, lambda t: F.pad(t, [3, 1, 0, 7])),
    (
        {"do": "affine", "angle": 25.0, "translate": [3, -2], "scale": 0.8, "shear": [5.0, 3.0]},
        lambda t: F.affine(t, 25.0, [3, -2], 0.8, [5.0, 3.0]),
    ),
    *[
        ({"do": "perspective", "coefficients": coefficients(corners)}, lambda t, c=corners: F.perspective(t, None, None, coefficients=coefficients(c)))
        for corners in CORNERS[:2]
    ],
    *[({"do": "elastic", **s}, lambda t, s=s: F.elastic(t, displacement(**s, height=40, width=48))) for s in ELASTIC],
    (
        {"do": "affine", "angle": -8.0, "translate": [0, 0], "scale": 1.3, "shear": [0.0, 0.0]},
        lambda t: F.affine(t, -8.0, [0, 0], 1.3, [0.0, 0.0]),
    ),
]
follow = []
middle = (0.5 * (boxes[:, 0] + boxes[:, 2]), 0.5 * (boxes[:, 1] + boxes[:, 3]))
within = (middle[0] > 5) & (middle[0] < 29) & (middle[1] > 3) & (middle[1] < 33)
part = dict(left=5, top=3, width=24, height=30, is_within_crop_area=within)
steps.append(({"do": "crop", "x": 5, "y": 3, "width": 24, "height": 30, "centred": True}, lambda t: v2.RandomIoUCrop().transform(t, part)))
for step, work in steps:
    moved_boxes = work(tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(40, 48)))
    moved_points = work(tv_tensors.KeyPoints(points, canvas_size=(40, 48)))
    follow.append({"step": step, "boxes": moved_boxes.tolist(), "points": moved_points.tolist()})

# ---------------------------------------------------------------- how operators of detection choose
def chosen(transform, count, numbers):
    """Means and deviations of what is chosen for a picture of 40 × 48 with the boxes above; and how often it is nothing."""
    canvas = tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(40, 48))
    rows = [transform.make_params([tv_tensors.Image(INPUTS["rgb"]), canvas]) for _ in range(count)]
    found = np.array([numbers(row) for row in rows if row], dtype=np.float64)
    return {"count": count, "none": count - len(found), "mean": found.mean(0).tolist(), "deviation": found.std(0).tolist()}


detect = {
    "iouCrop": chosen(v2.RandomIoUCrop(), 4000, lambda p: [p["left"], p["top"], p["width"], p["height"], int(p["is_within_crop_area"].sum())]),
    "zoomOut": chosen(v2.RandomZoomOut(), 4000, lambda p: p["padding"]),
    "scaleJitter": chosen(v2.ScaleJitter((60, 100), (0.5, 2.0)), 4000, lambda p: p["size"]),
}

# ---------------------------------------------------------------- mixing
torch.manual_seed(0)
batch = torch.rand(4, 3, 6, 5)
labels = torch.tensor([2, 0, 1, 2])
mixed = []
for name, mix, params in (
    ("mixup", v2.MixUp(num_classes=3), {"lam": 0.3}),
    ("cutmix", v2.CutMix(num_classes=3), {"box": (1, 2, 4, 6), "lam_adjusted": 0.6}),
):
    params = {"labels": labels, "batch_size": 4, **params}
    mixed.append(
        {
            "name": name,
            "lambda": params.get("lam", params.get("lam_adjusted")),
            "box": params.get("box"),
            "images": mix.transform(batch, params).flatten().tolist(),
            "labels": mix.transform(labels, params).flatten().tolist(),
        }
    )


def write(name, value):
    (HERE / name).write_text(json.dumps(value, indent=None, separators=(",", ":")).replace('},{"name"', '},\n{"name"') + "\n")


versions = {
    "python": platform.python_version(),
    "torch": torch.__version__,
    "torchvision": torchvision.__version__,
    "pillow": PIL.__version__,
    "numpy": np.__version__,
}
inputs = {k: {"file": f"{k}.bin", "width": t.shape[2], "height": t.shape[1], "channels": t.shape[0]} for k, t in INPUTS.items()}
write("cases.json", {"versions": versions, "inputs": inputs, "cases": cases})
write("follow.json", {"width": 48, "height": 40, "boxes": boxes.tolist(), "points": points.tolist(), "cases": follow})
write("mix.json", {"shape": [4, 3, 6, 5], "images": batch.flatten().tolist(), "labels": labels.tolist(), "cases": mixed})
write("augment.json", augment)
write("detect.json", detect)
print(versions, len(cases), "cases")
