"""Translated transforms deliver torchvision's pixels, and ImageFolder its samples, numbered alike."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE

import millrace

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
from PIL import Image  # noqa: E402
from torchvision import transforms as v1  # noqa: E402
from torchvision.transforms import InterpolationMode, v2  # noqa: E402

BUILT = Path(__file__).parents[3] / "dist" / "index.js"
GOLDEN = Path(__file__).parents[3] / "test" / "golden" / "images"
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
TO_FLOAT = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
GENERATIONS = pytest.mark.parametrize("t", [v1, v2], ids=["v1", "v2"])


# ------------------------------------------------------------------ pixels


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Four pictures of different sizes, one a class: smooth, with some noise."""
    root = tmp_path_factory.mktemp("pictures")
    generator = np.random.default_rng(5)
    for number, (height, width) in enumerate([(60, 80), (75, 64), (64, 64), (91, 57)]):
        y, x = np.mgrid[0:height, 0:width]
        waves = [127 + 100 * np.sin(x / (5 + c + number) + y / (9 - c)) for c in range(3)]
        pixels = np.stack(waves, -1) + generator.normal(0, 12, (height, width, 3))
        (root / f"class{number}").mkdir()
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(root / f"class{number}" / "one.png")
    return root


@pytest.fixture(scope="module")
def delivered(pictures, tmp_path_factory):
    """The first batch of every case, (image, label), from one run of the engine in Node."""
    if shutil.which("node") is None or not BUILT.exists():
        pytest.skip("needs node and dist/ (npm run build)")
    feeds = [
        millrace.ImageFolder(pictures, v2.Compose(steps)).batch(4).json() for steps, *_ in PIXELS.values()
    ]
    program = tmp_path_factory.mktemp("program") / "deliver.mjs"
    program.write_text(f"""
      import {{ fromJson, open }} from {json.dumps(BUILT.as_uri())}
      for (const json of {json.dumps(feeds)}) {{
        const loader = open(fromJson(json), {{ workers: 1 }})
        for await (const {{ image, label }} of loader) {{
          const bytes = Buffer.from(image.buffer, image.byteOffset, image.byteLength).toString('base64')
          const dtype = image instanceof Uint8Array ? 'uint8' : 'float32'
          console.log(JSON.stringify({{ bytes, dtype, label: [...label].map(Number) }}))
        }}
        await loader.close()
      }}
    """)
    run = subprocess.run(["node", program], capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    batches = map(json.loads, run.stdout.splitlines())
    return {name: batch for name, batch in zip(PIXELS, batches)}


def by_torchvision(root, transform):
    from torchvision.datasets import ImageFolder

    return torch.stack([transform(picture) for picture, _ in ImageFolder(root)]).numpy()


CROP, BYTES, FLOATS = v2.CenterCrop(48), v2.PILToTensor(), v1.ToTensor()

#: Transforms without chance, how far values may be apart (levels of 255), and the share of them that must be.
PIXELS = {
    "evaluation": ([v2.Resize(56), CROP, FLOATS, v2.Normalize(*IMAGENET)], 1.01, 1.0),
    "both sides, bicubic": ([v2.Resize((40, 50), InterpolationMode.BICUBIC), BYTES], 1, 1.0),
    "crop beyond the edge": ([v2.CenterCrop(100), BYTES], 0, 1.0),
    "border": ([CROP, v2.Pad((3, 5), fill=(10, 20, 30)), BYTES], 0, 1.0),
    "border mirrored": ([CROP, v2.Pad([1, 2, 3, 4], padding_mode="reflect"), BYTES], 0, 1.0),
    "mirrored": ([CROP, v2.RandomHorizontalFlip(1.0), v2.RandomVerticalFlip(1.0), BYTES], 0, 1.0),
    "grey": ([CROP, v2.Grayscale(3), BYTES], 1, 1.0),
    "bright": ([CROP, v2.ColorJitter(brightness=(1.3, 1.3)), BYTES], 1, 1.0),
    "contrast": ([CROP, v2.ColorJitter(contrast=(0.6, 0.6)), BYTES], 1, 1.0),
    "saturation": ([CROP, v2.ColorJitter(saturation=(1.5, 1.5)), BYTES], 1, 1.0),
    "inverted": ([CROP, v2.RandomInvert(1.0), BYTES], 0, 1.0),
    "posterized": ([CROP, v2.RandomPosterize(3, p=1.0), BYTES], 0, 1.0),
    "solarized": ([CROP, v2.RandomSolarize(100, p=1.0), BYTES], 0, 1.0),
    "equalized": ([CROP, v2.RandomEqualize(1.0), BYTES], 1, 1.0),
    "autocontrast": ([CROP, v2.RandomAutocontrast(1.0), BYTES], 1, 1.0),
    "sharpened": ([CROP, v2.RandomAdjustSharpness(2, p=1.0), BYTES], 1, 1.0),
    "blurred": ([CROP, v2.GaussianBlur(5, 1.2), BYTES], 1, 1.0),
    # Of PIL's pictures torchvision makes others here: the guide says so.
    "hue": ([v2.ToImage(), CROP, v2.ColorJitter(hue=(0.1, 0.1))], 1, 1.0),
    "sheared": (
        [
            v2.ToImage(),
            CROP,
            v2.RandomAffine((30, 30), shear=(9, 9), interpolation=InterpolationMode.BILINEAR),
        ],
        1,
        1.0,
    ),
    "turned": ([v2.ToImage(), CROP, v2.RandomRotation((30, 30), InterpolationMode.BILINEAR)], 1, 1.0),
    # Corners that may move by no pixel, and noise of no strength, leave the picture as it is.
    "no perspective": ([CROP, v2.RandomPerspective(0.0, p=1.0), BYTES], 1, 1.0),
    "not elastic": ([CROP, v2.ElasticTransform(0.0), BYTES], 0, 1.0),
    "scaled to fit": ([v2.ScaleJitter((50, 30), (1.0, 1.0)), v2.CenterCrop(30), BYTES], 1, 1.0),
    "on floats": ([FLOATS, CROP, v2.Pad(2, fill=0.5), v2.Normalize([0.5], [0.25])], 1, 1.0),
    "statistics of bytes": (
        [v2.ToImage(), CROP, v2.ToDtype(torch.float32), v2.Normalize([120.0] * 3, [60.0] * 3)],
        0.01,
        1.0,
    ),
}


@pytest.mark.parametrize("name", PIXELS)
def test_same_pixels(pictures, delivered, name):
    steps, levels, share = PIXELS[name]
    theirs = by_torchvision(pictures, v2.Compose(steps))
    batch = delivered[name]
    ours = np.frombuffer(base64.b64decode(batch["bytes"]), batch["dtype"]).reshape(theirs.shape)
    assert batch["label"] == [0, 1, 2, 3] and ours.dtype == theirs.dtype
    apart = np.abs(ours.astype(np.float64) - theirs) * levels_of(steps, ours.dtype)
    print(f"{name}: at most {apart.max():.4f} levels apart, {np.mean(apart <= 1.01):.4%} within one")
    assert np.mean(apart <= levels + 1e-3) >= share


def levels_of(steps, dtype):
    """How many levels of 255 a difference of 1 in the result is, by channel."""
    if dtype == np.uint8:
        return 1
    scaled = any(isinstance(step, v1.ToTensor) for step in steps)
    std = [np.array(step.std) for step in steps if isinstance(step, v2.Normalize)] or [np.ones(1)]
    return (std[0] * (255 if scaled else 1)).reshape(1, -1, 1, 1)


# ------------------------------------------------------------------ ImageFolder


def test_image_folder(pictures, monkeypatch):
    from torchvision.datasets import ImageFolder

    monkeypatch.chdir(pictures.parent)
    theirs = ImageFolder(pictures.name)
    ours = millrace.ImageFolder(pictures.name, transform=v2.Compose([CROP, *TO_FLOAT]))
    assert ours.classes == theirs.classes and ours.class_to_idx == theirs.class_to_idx
    feed = ours.shuffle(seed=1).batch(4)
    assert feed.classes == theirs.classes and feed.root == str(pictures.parent)
    assert feed.json() == {
        "source": {"folder": pictures.name},
        "order": {"shuffle": "global", "seed": 1},
        "fields": {
            "image": {
                "from": "image",
                "as": "image",
                "apply": [{"centerCrop": {"size": 48}}],
                "dtype": "f32",
            },
            "label": {"from": "label", "as": "int"},
        },
        "batch": 4,
    }
    assert millrace.from_torchvision(CROP, "jpg|png").json()["from"] == "jpg|png"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "steps, levels",
    [
        ([v2.CenterCrop(20), BYTES], 0),
        ([v2.Resize((24, 20)), BYTES], 1),
        # The picture allows no such piece: both take its middle.
        ([v2.RandomResizedCrop(16, scale=(1.0, 1.0), ratio=(1.0, 1.0)), BYTES], 1),
    ],
    ids=["cropped", "resized", "a piece, resized"],
)
def test_photographs_with_an_orientation(tmp_path, steps, levels):
    """As stored they are torchvision's, of every orientation and format; otherwise upright."""
    for file in sorted(GOLDEN.glob("exif-*")):
        if file.suffix in (".jpg", ".png", ".tif", ".webp"):
            (tmp_path / file.name).mkdir()
            shutil.copy(file, tmp_path / file.name)
    theirs = by_torchvision(tmp_path, v2.Compose(steps))
    apart = {}
    for orientation in ("exif", "stored"):
        feed = millrace.ImageFolder(tmp_path, v2.Compose(steps), orientation=orientation).batch(len(theirs))
        with feed.open(workers=1) as loader:
            (batch,) = [batch["image"].astype(int) for batch in loader.numpy()]
        apart[orientation] = np.abs(batch - theirs).max(axis=(1, 2, 3))
    assert len(theirs) >= 18 and apart["stored"].max() <= levels
    assert sum(apart["exif"] > 20) >= 14


@pytest.mark.usefixtures("engine")
def test_classes_are_numbered_as_by_torchvision(tmp_path):
    """Empty class folders, hidden ones, .bmp: every way in has torchvision's samples and labels, or
    refuses."""
    from torchvision.datasets import ImageFolder

    for name in ("cow/1.bmp", ".hidden/2.png", "ant/deep/.er/3.jpg", "Bee/4.jpg", "ant/5.JPEG"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / name)

    def samples(source):
        field = millrace.image("image").center_crop(4)
        feed = source.fields(image=field, label=millrace.int("label")).batch(2, last="keep").open(workers=1)
        with feed:
            return [
                (id_, int(label)) for batch in feed.numpy() for id_, label in zip(batch.ids, batch["label"])
            ]

    def theirs(**options):
        found = ImageFolder(tmp_path, **options).samples
        return sorted((str(Path(path).relative_to(tmp_path)), label) for path, label in found)

    for ours in (millrace.folder(tmp_path), millrace.ImageFolder(tmp_path)):
        assert sorted(samples(ours)) == theirs()
    (tmp_path / "bee").mkdir()
    with pytest.raises(FileNotFoundError, match="no valid file for the classes bee"):
        theirs()
    for ours in (millrace.folder(tmp_path), millrace.ImageFolder(tmp_path)):
        with pytest.raises(millrace.MillraceError, match="bee holds no picture.*name the classes"):
            samples(ours)
    ours = millrace.ImageFolder(tmp_path, allow_empty=True)
    assert ours.classes == ImageFolder(tmp_path, allow_empty=True).classes
    assert sorted(samples(ours)) == theirs(allow_empty=True)
    names = ["cow", "ant", "bee", "Bee", ".hidden", "gone"]
    given = millrace.ImageFolder(tmp_path, classes=names)
    assert given.class_to_idx == {name: i for i, name in enumerate(names)}
    assert samples(given) == samples(millrace.folder(tmp_path, classes=names))
    assert {label for _, label in samples(given)} == {0, 1, 3, 4}


def test_image_folder_mistakes(tmp_path):
    with pytest.raises(FileNotFoundError, match="no class folders"):
        millrace.ImageFolder(tmp_path)
    with pytest.raises(FileNotFoundError):
        millrace.ImageFolder(tmp_path / "nowhere")
    (tmp_path / "a").mkdir()
    with pytest.raises(TypeError, match="target_transform"):
        millrace.ImageFolder(tmp_path, target_transform=int)
