"""The Python builder makes exactly the JSON of the TypeScript builder."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE
from token_spellings import TOKENS, of_field

import millrace

ROOT = Path(__file__).parents[3]
BUILT = ROOT / "dist" / "index.js"
image, label = millrace.image("jpg").center_crop(32), millrace.int("cls")
base = millrace.tar("a.tar").fields(image=image).batch(8)


#: The same feed twice: here, and in TypeScript's spelling. ``f(x)`` there is ``of_field`` here.
SAME = [
    (
        millrace.tar("shards/train-{0000..0015}.tar")
        .shuffle(seed=7)
        .fields(
            image=millrace.image("jpg").random_resized_crop(224).flip().normalize("imagenet"),
            label=millrace.int("cls"),
        )
        .batch(256),
        """feed({ source: tar('shards/train-{0000..0015}.tar'), order: shuffle({ seed: 7 }), batch: 256,
             fields: { image: image('jpg').randomResizedCrop(224).flip().normalize('imagenet'),
                       label: int('cls') } })""",
    ),
    (
        millrace.tar("a.tar", Path("b.tar")).fields(x=label).batch(1),
        "feed({ ...g, source: tar('a.tar', 'b.tar') })",
    ),
    (
        millrace.zarr("a.zarr").fields(x=label).batch(1),
        "feed({ ...g, source: zarr('a.zarr') })",
    ),
    (
        millrace.zarr(["a.zarr", "b.zarr"], arrays={"x": "data/*/x"}, rows="groups").fields(x=label).batch(1),
        "feed({ ...g, source: zarr(['a.zarr', 'b.zarr'], { arrays: { x: 'data/*/x' }, rows: 'groups' }) })",
    ),
    (
        millrace.tar(["a.tar", "b.tar"]).fields(x=label).batch(1),
        "feed({ ...g, source: tar('a.tar', 'b.tar') })",
    ),
    (millrace.folder("p").fields(x=label).batch(1), "feed({ ...g, source: folder('p') })"),
    (
        millrace.folder("p", classes=("b", "a"), extensions=["png"]).fields(x=label).batch(1),
        "feed({ ...g, source: folder('p', { classes: ['b', 'a'], extensions: ['png'] }) })",
    ),
    (millrace.files("**/*.jpg").fields(x=label).batch(1), "feed({ ...g, source: files('**/*.jpg') })"),
    (
        millrace.zip(
            millrace.files("img/*.png"),
            {"source": millrace.files("msk/*.png"), "rename": {"file": "mask"}},
            key=["(.*)_i", "(.*)_m"],
        )
        .fields(x=label)
        .batch(1),
        "feed({ ...g, source: zip([files('img/*.png'), "
        "{ source: files('msk/*.png'), rename: { file: 'mask' } }], { key: ['(.*)_i', '(.*)_m'] }) })",
    ),
    (
        millrace.files(list="a.csv", paths={"image": "img", "mask": "msk"}).fields(x=label).batch(1),
        "feed({ ...g, source: files({ list: 'a.csv', paths: { image: 'img', mask: 'msk' } }) })",
    ),
    (
        millrace.tar("shards.json", root="/data").fields(x=label).batch(1),
        "feed({ ...g, source: tar({ path: 'shards.json', root: '/data' }) })",
    ),
    (
        millrace.arrow("saved", split="train", root="/data").fields(x=label).batch(1),
        "feed({ ...g, source: arrow('saved', { split: 'train', root: '/data' }) })",
    ),
    (
        millrace.files(list=Path("train.csv"), path="file", root="images").fields(x=label).batch(1),
        "feed({ ...g, source: files({ list: 'train.csv', path: 'file', root: 'images' }) })",
    ),
    (
        millrace.synthetic(100, seed=3, images=dict(width=64, height=48, classes=5)).fields(x=label).batch(1),
        """feed({ ...g, source: synthetic(
             { count: 100, seed: 3, images: { width: 64, height: 48, classes: 5 } }) })""",
    ),
    (
        millrace.synthetic(9, tensors=dict(shape=(2, 3), dtype="f32")).fields(x=label).batch(1),
        "feed({ ...g, source: synthetic({ count: 9, tensors: { shape: [2, 3], dtype: 'f32' } }) })",
    ),
    (
        millrace.kernel(
            Path("gen.cu"),
            entry="draw",
            count=9,
            fields={"image": dict(dtype="f32", shape=(3, 4, 4)), "label": dict(dtype="i64", shape=())},
            threads=7,
        )
        .fields(picture={"from": "image"})
        .batch(1),
        """feed({ source: kernel('gen.cu', { entry: 'draw', count: 9, threads: 7, fields: {
             image: { dtype: 'f32', shape: [3, 4, 4] }, label: { dtype: 'i64', shape: [] } } }),
             fields: { picture: { from: 'image' } }, batch: 1 })""",
    ),
    (
        millrace.concat(millrace.tar("a.tar"), millrace.zip(millrace.tar("b.tar"), {"tar": "c.tar"}))
        .fields(x=label)
        .batch(1),
        "feed({ ...g, source: concat(tar('a.tar'), zip(tar('b.tar'), tar('c.tar'))) })",
    ),
    (
        millrace.subset(millrace.tar("a.tar"), range=(5, 10)).fields(x=label).batch(1),
        "feed({ ...g, source: subset(tar('a.tar'), { range: [5, 10] }) })",
    ),
    (
        millrace.subset(millrace.tar("a.tar"), indices=np.arange(3)).fields(x=label).batch(1),
        "feed({ ...g, source: subset(tar('a.tar'), { indices: [0, 1, 2] }) })",
    ),
    (
        millrace.subset(millrace.tar("a.tar"), where={"cls": [1, 2], "size": {">=": 10}})
        .fields(x=label)
        .batch(1),
        "feed({ ...g, source: subset(tar('a.tar'), { where: { cls: [1, 2], size: { '>=': 10 } } }) })",
    ),
    (
        millrace.split(millrace.tar("a.tar"), parts={"t": 0.9, "v": 0.1}, take="v", group_by="cls", seed=4)
        .fields(x=label)
        .batch(1),
        """feed({ ...g, source: split(tar('a.tar'),
             { parts: { t: 0.9, v: 0.1 }, take: 'v', groupBy: 'cls', seed: 4 }) })""",
    ),
    (
        millrace.split(millrace.tar("a.tar"), folds=5, take={"not": 0}, stratify_by="cls")
        .fields(x=label)
        .batch(1),
        "feed({ ...g, source: split(tar('a.tar'), { folds: 5, take: { not: 0 }, stratifyBy: 'cls' }) })",
    ),
    (
        millrace.blend(
            [
                (millrace.tar("a.tar"), 0.75),
                {"source": millrace.tar("b.tar"), "weight": 1.0, "name": "b", "rename": {"png": "jpg"}},
            ],
            per="batch",
            epoch=1000,
        )
        .fields(x=label)
        .batch(1),
        """feed({ ...g, source: blend([{ source: tar('a.tar'), weight: 0.75 },
             { source: tar('b.tar'), weight: 1, name: 'b', rename: { png: 'jpg' } }],
             { per: 'batch', epoch: 1000 }) })""",
    ),
    (base.sequential(), "feed({ ...h, order: sequential() })"),
    (base.shuffle(), "feed({ ...h, order: shuffle() })"),
    (base.shuffle(3, window=1000), "feed({ ...h, order: shuffle({ seed: 3, window: 1000 }) })"),
    (base.weighted(np.array([1.0, 2.5])), "feed({ ...h, order: weighted([1, 2.5]) })"),
    (
        base.weighted(balance="cls", seed=1, samples=50),
        "feed({ ...h, order: weighted({ balance: 'cls' }, { seed: 1, samples: 50 }) })",
    ),
    (base.weighted(column="w"), "feed({ ...h, order: weighted({ column: 'w' }) })"),
    (base.batch(256, last="pad"), "feed({ ...h, batch: { size: 256, last: 'pad' } })"),
    (base.batch(global_=512), "feed({ ...h, batch: { global: 512 } })"),
    (
        base.fields(image=millrace.image("jpg").center_crop(8).dtype("f32"), y=label).batch(
            8, apply=[millrace.mixup(classes=10, alpha=0.2), millrace.cutmix(classes=10, label="y")]
        ),
        """feed({ ...h, fields: { image: image('jpg').centerCrop(8).dtype('f32'), y: int('cls') },
             batch: { size: 8, apply: [mixup({ classes: 10, alpha: 0.2 }),
             cutmix({ classes: 10, label: 'y' })] } })""",
    ),
    (
        base.fields(
            image=millrace.image("jpg").zoom_out().iou_crop(trials=9).scale_jitter(64).center_crop(8),
            boxes=millrace.boxes("json").follow("image"),
        ).batch(8, apply=[millrace.mosaic(), millrace.mosaic(center=(0.4, 0.6), p=0.5)]),
        """feed({ ...h, fields: { image: image('jpg').zoomOut().iouCrop([0.3, 1], { trials: 9 })
             .scaleJitter(64).centerCrop(8), boxes: boxes('json').follow('image') },
             batch: { size: 8, apply: [mosaic(), mosaic({ center: [0.4, 0.6], p: 0.5 })] } })""",
    ),
    (base.on_error("drop"), "feed({ ...h, onError: 'drop' })"),
    (base.on_error("mask", budget=5), "feed({ ...h, onError: { policy: 'mask', budget: 5 } })"),
    # fields
    (
        of_field(millrace.image("jpg|png").shape(32, 48).layout("hwc").scale("auto").dtype("bf16")),
        "f(image('jpg|png').shape(32, 48).layout('hwc').scale('auto').dtype('bf16'))",
    ),
    (
        of_field(millrace.image("jpg").center_crop(8).orientation("stored")),
        "f(image('jpg').centerCrop(8).orientation('stored'))",
    ),
    (
        of_field(millrace.category("class", ("cat", "dog")).dtype("i32")),
        "f(category('class', ['cat', 'dog']).dtype('i32'))",
    ),
    (of_field(millrace.float("score").dtype("f64")), "f(float('score').dtype('f64'))"),
    (of_field(millrace.text("txt").ragged(max=64)), "f(text('txt').ragged({ max: 64 }))"),
    (of_field(millrace.json("json")), "f(json('json'))"),
    (
        of_field(millrace.bytes("bin").ragged(max=10, total=80)),
        "f(bytes('bin').ragged({ max: 10, total: 80 }))",
    ),
    (
        of_field(millrace.bytes("bin").pad("longest", multiple=8, value=255, max=100)),
        "f(bytes('bin').pad({ to: 'longest', multiple: 8, value: 255, max: 100 }))",
    ),
    (
        of_field(millrace.npy("npy", shape=(4, 2), dtype="f32").pad(4)),
        "f(npy('npy', { shape: [4, 2], dtype: 'f32' }).pad({ to: 4 }))",
    ),
    (
        of_field(millrace.npy("npy.zst", shape=(4, 2), dtype="f32").compression("zstd")),
        "f(npy('npy.zst', { shape: [4, 2], dtype: 'f32' }).compression('zstd'))",
    ),
    (
        of_field(millrace.npy("npy", shape=(4, 2), dtype="f32").ragged()),
        "f(npy('npy', { shape: [4, 2], dtype: 'f32' }).ragged())",
    ),
    (of_field(millrace.int("cls").missing(-1)), "f(int('cls').missing(-1))"),
    (of_field(millrace.float("x").missing(float("nan"))), "f(float('x').missing(NaN))"),
    (of_field(millrace.text("txt").missing("")), "f(text('txt').missing(''))"),
    (
        of_field(millrace.npy("npy", shape=(4, 2), dtype="f32").missing(float("-inf"))),
        "f(npy('npy', { shape: [4, 2], dtype: 'f32' }).missing(-Infinity))",
    ),
    (
        of_field(millrace.npy("npy", shape=(4, 2), dtype="f32").ragged().missing([])),
        "f(npy('npy', { shape: [4, 2], dtype: 'f32' }).ragged().missing([]))",
    ),
    (of_field(millrace.boxes("b").missing()), "f(boxes('b').missing())"),
    (
        base.fields(
            mask=millrace.mask("png").follow("image").dtype("i64"),
            boxes=millrace.boxes("b").follow("image").shape(20, 5).min_area(2.5).pad("longest"),
            points=millrace.points("p").follow("image").shape(9, 2).ragged(),
        ),
        """feed({ ...h, fields: { ...h.fields, mask: mask('png').follow('image').dtype('i64'),
             boxes: boxes('b').follow('image').shape(20, 5).minArea(2.5).pad({ to: 'longest' }),
             points: points('p').follow('image').shape(9, 2).ragged() } })""",
    ),
    # operators
    (
        of_field(
            millrace.image("jpg")
            .resize(256, filter="bicubic", antialias=False, max_size=512)
            .pad((1, 2), fill=(1, 2, 3), mode="reflect")
            .rotate(10, filter="bilinear", fill=7)
            .affine((-5, 5), translate=(0.1, 0.2), scale=(0.5, 1.5), shear=3)
            .random_crop((30, 40), padding=4, pad_if_needed=True)
            .flip(0.25, axis="vertical")
            .flip(p=1.0)
        ),
        """f(image('jpg').resize(256, { filter: 'bicubic', antialias: false, maxSize: 512 })
             .pad([1, 2], { fill: [1, 2, 3], mode: 'reflect' }).rotate(10, { filter: 'bilinear', fill: 7 })
             .affine([-5, 5], { translate: [0.1, 0.2], scale: [0.5, 1.5], shear: 3 })
             .randomCrop([30, 40], { padding: 4, padIfNeeded: true })
             .flip(0.25, { axis: 'vertical' }).flip(1))""",
    ),
    (
        of_field(
            millrace.image("jpg")
            .center_crop((8, 9))
            .color_jitter(brightness=0.4, hue=(-0.1, 0.1))
            .grayscale()
            .grayscale(0.2)
            .gaussian_blur((3, 5), sigma=0.5)
            .autocontrast()
            .posterize(4)
            .solarize(128, p=0.1)
            .equalize()
            .invert(0.3)
            .sharpness(2, p=1)
            .trivial_augment()
            .trivial_augment(filter="bilinear")
            .rand_augment()
            .rand_augment(3, magnitude=5, fill=7)
            .auto_augment()
            .auto_augment("svhn", filter="bilinear")
            .photometric_distort(0.2, hue=(-0.1, 0.1))
            .perspective()
            .elastic((9, 8), sigma=2)
            .normalize(mean=0.5, std=[0.1, 0.2, 0.3])
            .random_erasing()
        ),
        """f(image('jpg').centerCrop([8, 9]).colorJitter({ brightness: 0.4, hue: [-0.1, 0.1] }).grayscale()
             .grayscale(0.2).gaussianBlur([3, 5], { sigma: 0.5 }).autocontrast().posterize(4)
             .solarize(128, { p: 0.1 }).equalize().invert(0.3).sharpness(2, { p: 1 })
             .trivialAugment().trivialAugment({ filter: 'bilinear' })
             .randAugment().randAugment(3, { magnitude: 5, fill: 7 })
             .autoAugment().autoAugment('svhn', { filter: 'bilinear' })
             .photometricDistort(0.2, { hue: [-0.1, 0.1] }).perspective().elastic([9, 8], { sigma: 2 })
             .normalize({ mean: 0.5, std: [0.1, 0.2, 0.3] }).randomErasing())""",
    ),
    (
        of_field(millrace.image("jpg", channels=1).center_crop(4).normalize(mean=[0.5], std=0.2)),
        "f(image('jpg', { channels: 1 }).centerCrop(4).normalize({ mean: [0.5], std: 0.2 }))",
    ),
    (
        of_field(
            millrace.image("jpg").random_resized_crop(9, ratio=(1, 1)).random_erasing(0.1, value="random")
        ),
        "f(image('jpg').randomResizedCrop(9, { ratio: [1, 1] }).randomErasing(0.1, { value: 'random' }))",
    ),
    # variants
    (
        base.shuffle(7).variants(
            val=dict(
                source=millrace.folder("val"),
                order=millrace.sequential(),
                fields=dict(image=millrace.image("jpg").resize(40).center_crop(32)),
            )
        ),
        """feed({ ...h, order: shuffle({ seed: 7 }), variants: { val: {
             source: folder('val'), order: sequential(),
             fields: { image: image('jpg').resize(40).centerCrop(32) } } } })""",
    ),
    (
        base.shuffle(7)
        .on_error("mask", 9)
        .variants(val=millrace.tar("v.tar").sequential().fields(label=millrace.int("cls")), same={})
        .variants(big=dict(batch=512, on_error="fail")),
        """feed({ ...h, order: shuffle({ seed: 7 }), onError: { policy: 'mask', budget: 9 }, variants: {
             val: { source: tar('v.tar'), order: sequential(), fields: { label: int('cls') } }, same: {},
             big: { batch: 512, onError: 'fail' } } })""",
    ),
    *TOKENS,
]


@pytest.fixture(scope="module")
def typescript():
    """The JSON of every feed as TypeScript's builder makes it, from one run of Node."""
    if shutil.which("node") is None or not BUILT.exists():
        pytest.skip("needs node and dist/ (npm run build)")
    program = f"""
      import * as millrace from {json.dumps(BUILT.as_uri())}
      const {{ feed, image, int, tar }} = millrace
      const g = {{ source: tar('a.tar'), fields: {{ x: int('cls') }}, batch: 1 }}
      const h = {{ source: tar('a.tar'), fields: {{ image: image('jpg').centerCrop(32) }}, batch: 8 }}
      const f = x => feed({{ source: tar('a.tar'), fields: {{ x }}, batch: 8 }})
      const scope = {{ ...millrace, g, h, f }}
      const feeds = {json.dumps([text for _, text in SAME])}.map(text =>
        new Function(...Object.keys(scope), `return (${{text}}).json`)(...Object.values(scope)))
      console.log(JSON.stringify(feeds))
    """
    run = subprocess.run(
        ["node", "--input-type=module", "-e", program], capture_output=True, text=True, timeout=PATIENCE
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("number", range(len(SAME)))
def test_same_json_as_typescript(typescript, number):
    ours, theirs = SAME[number][0].json(), typescript[number]
    assert ours == theirs
    assert list(ours.get("fields", [])) == list(
        theirs.get("fields", [])
    )  # fields lie in a batch in this order
    assert json.loads(json.dumps(ours, allow_nan=False)) == ours
