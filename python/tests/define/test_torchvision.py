"""torchvision's transforms become operators with the same parameters, or are named."""

from pathlib import Path

import pytest

import millrace

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
from torchvision import transforms as v1  # noqa: E402
from torchvision.transforms import InterpolationMode, v2  # noqa: E402

BUILT = Path(__file__).parents[3] / "dist" / "index.js"
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
TO_FLOAT = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
GENERATIONS = pytest.mark.parametrize("t", [v1, v2], ids=["v1", "v2"])


def translated(*steps):
    """The operators of a Compose, and the dtype if one is given."""
    field = millrace.from_torchvision(v2.Compose(list(steps)) if len(steps) > 1 else steps[0]).json()
    return field.get("apply", []), field.get("dtype")


# ------------------------------------------------------------------ parameters


@GENERATIONS
@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda t: t.Resize(256), {"resize": {"size": 256}}),
        (lambda t: t.Resize([256]), {"resize": {"size": 256}}),
        (
            lambda t: t.Resize((20, 30), InterpolationMode.BICUBIC),
            {"resize": {"size": [20, 30], "filter": "bicubic"}},
        ),
        (lambda t: t.Resize(20, max_size=40), {"resize": {"size": 20, "maxSize": 40}}),
        (lambda t: t.CenterCrop(224), {"centerCrop": {"size": 224}}),
        (lambda t: t.CenterCrop((20, 30)), {"centerCrop": {"size": [20, 30]}}),
        (lambda t: t.RandomCrop(32), {"randomCrop": {"size": 32}}),
        (
            lambda t: t.RandomCrop(
                32, padding=[4, 5, 6, 7], pad_if_needed=True, fill=9, padding_mode="constant"
            ),
            {"randomCrop": {"size": 32, "padding": [4, 5, 6, 7], "padIfNeeded": True, "fill": 9}},
        ),
        (
            lambda t: t.RandomResizedCrop(24, scale=(0.5, 1.0), ratio=(1.0, 2.0)),
            {"randomResizedCrop": {"size": 24, "scale": [0.5, 1], "ratio": [1, 2]}},
        ),
        (lambda t: t.Pad((1, 2), padding_mode="edge"), {"pad": {"padding": [1, 2], "mode": "edge"}}),
        (lambda t: t.Pad(3, fill=(1, 2, 3)), {"pad": {"padding": 3, "fill": [1, 2, 3]}}),
        (lambda t: t.RandomHorizontalFlip(0.25), {"flip": {"p": 0.25}}),
        (lambda t: t.RandomVerticalFlip(), {"flip": {"p": 0.5, "axis": "vertical"}}),
        (lambda t: t.RandomRotation(15), {"rotate": {"degrees": [-15, 15], "filter": "nearest"}}),
        (
            lambda t: t.RandomRotation((0, 9), InterpolationMode.BILINEAR, fill=7),
            {"rotate": {"degrees": [0, 9], "filter": "bilinear", "fill": 7}},
        ),
        (
            lambda t: t.RandomAffine(5, translate=(0.1, 0.2), scale=(0.5, 1.5), shear=(1, 2, 3, 4)),
            {
                "affine": {
                    "degrees": [-5, 5],
                    "translate": [0.1, 0.2],
                    "scale": [0.5, 1.5],
                    "shear": [1, 2, 3, 4],
                    "filter": "nearest",
                }
            },
        ),
        (lambda t: t.RandomPerspective(), {"perspective": {"distortion": 0.5, "p": 0.5}}),
        (
            lambda t: t.RandomPerspective(0.2, 0.3, InterpolationMode.NEAREST, 7),
            {"perspective": {"distortion": 0.2, "p": 0.3, "filter": "nearest", "fill": 7}},
        ),
        (lambda t: t.ElasticTransform(), {"elastic": {"alpha": [50, 50], "sigma": [5, 5]}}),
        (
            lambda t: t.ElasticTransform([9.0, 8.0], [3.0, 2.0], InterpolationMode.NEAREST, 7),
            {"elastic": {"alpha": [9, 8], "sigma": [3, 2], "filter": "nearest", "fill": 7}},
        ),
        (
            lambda t: t.ColorJitter(0.4, 0.3, (0.5, 1.5), 0.1),
            {
                "colorJitter": {
                    "brightness": [0.6, 1.4],
                    "contrast": [0.7, 1.3],
                    "saturation": [0.5, 1.5],
                    "hue": [-0.1, 0.1],
                }
            },
        ),
        (lambda t: t.ColorJitter(hue=0.5), {"colorJitter": {"hue": [-0.5, 0.5]}}),
        (lambda t: t.Grayscale(3), {"grayscale": {"p": 1}}),
        (lambda t: t.RandomGrayscale(0.2), {"grayscale": {"p": 0.2}}),
        (lambda t: t.GaussianBlur(3), {"gaussianBlur": {"kernel": 3, "sigma": [0.1, 2]}}),
        (lambda t: t.GaussianBlur((3, 5), 1.5), {"gaussianBlur": {"kernel": [3, 5], "sigma": [1.5, 1.5]}}),
        (lambda t: t.RandomAutocontrast(), {"autocontrast": {"p": 0.5}}),
        (lambda t: t.RandomEqualize(0.1), {"equalize": {"p": 0.1}}),
        (lambda t: t.RandomInvert(), {"invert": {"p": 0.5}}),
        (lambda t: t.RandomPosterize(4, p=0.3), {"posterize": {"bits": 4, "p": 0.3}}),
        (lambda t: t.RandomSolarize(192), {"solarize": {"threshold": 192, "p": 0.5}}),
        (lambda t: t.RandomAdjustSharpness(2), {"sharpness": {"factor": 2, "p": 0.5}}),
        (lambda t: t.TrivialAugmentWide(), {"trivialAugment": {"bins": 31}}),
        (lambda t: t.TrivialAugmentWide(fill=9), {"trivialAugment": {"bins": 31, "fill": 9}}),
        (
            lambda t: t.RandAugment(3, 7, 15, InterpolationMode.BILINEAR, [1, 2, 3]),
            {
                "randAugment": {
                    "ops": 3,
                    "magnitude": 7,
                    "bins": 15,
                    "filter": "bilinear",
                    "fill": [1, 2, 3],
                }
            },
        ),
        (lambda t: t.AutoAugment(), {"autoAugment": {"policy": "imagenet"}}),
        (
            lambda t: t.AutoAugment(t.AutoAugmentPolicy.SVHN, InterpolationMode.BILINEAR, 0),
            {"autoAugment": {"policy": "svhn", "filter": "bilinear", "fill": 0}},
        ),
        (
            lambda t: t.RandomErasing(0.3, value="random"),
            {"randomErasing": {"p": 0.3, "scale": [0.02, 0.33], "ratio": [0.3, 3.3], "value": "random"}},
        ),
    ],
)
def test_parameters(t, make, expected):
    (op,), dtype = translated(make(t))
    assert dtype is None
    assert list(op) == list(expected)
    (params,), (wanted,) = op.values(), expected.values()
    assert params.keys() == wanted.keys()
    for key in wanted:
        assert params[key] == (wanted[key] if isinstance(wanted[key], str) else pytest.approx(wanted[key]))


def test_parameters_of_the_second_generation_alone():
    assert translated(v2.ClampBoundingBoxes(), v2.RandomZoomOut(7, (1.0, 3.0), 0.25))[0] == [
        {"zoomOut": {"sides": [1, 3], "p": 0.25, "fill": 7}}
    ]
    assert translated(v2.RandomIoUCrop(sampler_options=[0.5, 1.0], trials=9))[0] == [
        {"iouCrop": {"scale": [0.3, 1], "ratio": [0.5, 2], "overlaps": [0.5, 1], "trials": 9}}
    ]
    # torchvision's target size is (width, height); ours are [height, width].
    assert translated(v2.ScaleJitter((640, 480), (0.5, 1.5)))[0] == [
        {"scaleJitter": {"size": [480, 640], "scale": [0.5, 1.5]}}
    ]
    distort = v2.RandomPhotometricDistort(brightness=(0.5, 2), p=0.25)
    assert translated(distort)[0] == [
        {
            "photometricDistort": {
                "p": 0.25,
                "brightness": [0.5, 2],
                "contrast": [0.5, 1.5],
                "saturation": [0.5, 1.5],
                "hue": [-0.05, 0.05],
            }
        }
    ]


@GENERATIONS
def test_numbers(t):
    normalize = {"normalize": {"mean": IMAGENET[0], "std": IMAGENET[1]}}
    assert translated(t.ToTensor()) == ([], "f32")
    assert translated(t.PILToTensor()) == ([], None)
    assert translated(t.ToTensor(), t.Normalize(*IMAGENET)) == ([normalize], None)
    assert translated(t.PILToTensor(), t.ConvertImageDtype(torch.float16), t.Normalize(*IMAGENET)) == (
        [normalize],
        "f16",
    )
    assert translated(v2.ToImage(), v2.ToDtype(torch.bfloat16, scale=True)) == ([], "bf16")
    assert translated(v2.ToImage(), v2.Identity(), torch.nn.Identity(), v2.RGB()) == ([], None)
    ((one,), _) = translated(t.ToTensor(), t.Normalize([0.5], [0.25]))
    assert one == {"normalize": {"mean": [0.5] * 3, "std": [0.25] * 3}}
    # Statistics of 0…255, for floats that were not scaled.
    ((raw,), _) = translated(v2.ToImage(), v2.ToDtype(torch.float32), t.Normalize([51.0] * 3, [255.0] * 3))
    assert raw["normalize"] == {"mean": pytest.approx([0.2] * 3), "std": pytest.approx([1.0] * 3)}


@GENERATIONS
def test_what_commutes_is_moved(t):
    ops, _ = translated(
        t.CenterCrop(8), t.ToTensor(), t.Normalize([0.5] * 3, [0.5] * 3), t.RandomHorizontalFlip()
    )
    assert [name for op in ops for name in op] == ["centerCrop", "flip", "normalize"]
    # A rectangle of a value v, normalised afterwards, is one of (v − mean) / std.
    ops, _ = translated(t.ToTensor(), t.RandomErasing(value=0.25), t.Normalize([0.5] * 3, [0.5] * 3))
    assert ops[1]["randomErasing"]["value"] == pytest.approx([-0.5] * 3)
    # After ToTensor values are of 0…1: ours are bytes.
    assert translated(t.ToTensor(), t.Pad(1, fill=1.0))[0] == [{"pad": {"padding": 1, "fill": 255}}]
    ((solarize,), _) = translated(t.ToTensor(), t.RandomSolarize(0.2))
    assert solarize["solarize"]["threshold"] == pytest.approx(51)


def test_nesting_and_presets():
    from torchvision.models import ResNet50_Weights

    ops, dtype = translated(v2.Compose([v2.Resize(9), torch.nn.Sequential(v2.CenterCrop(8))]), *TO_FLOAT)
    assert (ops, dtype) == ([{"resize": {"size": 9}}, {"centerCrop": {"size": 8}}], "f32")
    ops, _ = translated(ResNet50_Weights.IMAGENET1K_V2.transforms())
    assert ops == [
        {"resize": {"size": 232}},
        {"centerCrop": {"size": 224}},
        {"normalize": {"mean": IMAGENET[0], "std": IMAGENET[1]}},
    ]


class Custom(v2.Resize):
    """A user's own subclass, which may do anything."""


@pytest.mark.parametrize(
    "steps, told",
    [
        ([v2.Lambda(lambda x: x)], "can't look into a function"),
        ([lambda x: x], "not one of torchvision's own"),
        ([Custom(8)], "not one of torchvision's own"),
        ([v2.RandomApply([v2.RandomInvert()], 0.5)], "their own p"),
        ([v2.RandomApply([v2.ColorJitter(0.4)], 0.8)], "ColorJitter, apply to the batch"),
        ([v2.AugMix()], "take TrivialAugmentWide"),
        ([v2.JPEG(50)], "no such operator; leave it out, and apply it to the batch"),
        ([v2.SanitizeBoundingBoxes()], "min_area(1)"),
        ([v2.ConvertBoundingBoxFormat("XYXY")], "boxes are [x1, y1, x2, y2]"),
        ([v2.MixUp(num_classes=9)], "apply=[millrace.mixup(classes=...)]"),
        ([v2.Grayscale()], "num_output_channels=3"),
        ([v2.RandomRotation(9, expand=True)], "expand=True gives every picture another size"),
        ([v2.RandomRotation(9, center=(1, 1))], "turn about their middle"),
        ([v2.RandomRotation(9, InterpolationMode.BICUBIC)], "take one of nearest, bilinear"),
        ([v2.Resize(9, InterpolationMode.LANCZOS)], "interpolation lanczos is not to be had"),
        ([v2.Resize(9, InterpolationMode.NEAREST_EXACT)], "interpolation nearest-exact is not to be had"),
        ([v2.Resize(None, max_size=9)], "longer side alone"),
        ([v2.RandAugment(fill={torch.Tensor: 1})], "one number or one for each channel"),
        ([v2.Pad(1, fill={torch.Tensor: 1})], "one number or one for each channel"),
        ([v2.Normalize([0.5] * 3, [0.5] * 3)], "put ToTensor()"),
        ([*TO_FLOAT, v2.Normalize([0.5] * 3, [0.5] * 3), v2.Resize(8)], "put it before Normalize"),
        ([*TO_FLOAT, v2.RandomErasing(), v2.RandomHorizontalFlip()], "put RandomErasing at the end"),
        (
            [*TO_FLOAT, v2.RandomErasing(value="random"), v2.Normalize([0.5], [0.5])],
            "put RandomErasing after it",
        ),
        ([v2.ToImage(), v2.ToDtype(torch.float32)], "scale=True"),
        ([v2.ToDtype({torch.Tensor: torch.float32})], "give the image's alone"),
        ([*TO_FLOAT, v2.ToPILImage()], "no way back"),
        ([v2.ToImage(), v2.ToDtype(torch.complex64, scale=True)], "torch.complex64 is not to be had"),
    ],
)
def test_refused(steps, told):
    with pytest.raises(millrace.TranslationError) as caught:
        millrace.from_torchvision(v2.Compose(steps))
    assert told in str(caught.value)


def test_all_problems_at_once():
    with pytest.raises(millrace.TranslationError) as caught:
        millrace.from_torchvision(v2.Compose([v2.FiveCrop(8), v2.Resize(8), v2.JPEG(50)]))
    assert len(caught.value.problems) == 2
    text = str(caught.value)
    assert text.startswith("2 of 3 transforms can't be translated:") and "FiveCrop" in text and "JPEG" in text
