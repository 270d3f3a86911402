"""SPDL: a pipeline of threads in this process, decoding with SPDL's own decoder or with torchvision's.

Both release the GIL. SPDL's decoder is FFmpeg, which crops, scales and flips in the same go.
"""

import random
from pathlib import Path

import spdl.io
import torch
from recipe import MEAN, STD, from_bytes
from spdl.pipeline import PipelineBuilder
from torchvision.transforms import v2

TITLE = "SPDL"
PACKAGES = ("spdl", "av")


def variants(cores):
    return [
        {"threads": n, "decode": how}
        for n in sorted({1, cores, cores * 2})
        for how in ("spdl", "torchvision")
    ]


def prepare(data):
    """It reads files."""


def batches(data, threads, decode):
    one, together = {"spdl": (decode_spdl, stack_frames), "torchvision": (decode_torchvision, torch.stack)}[
        decode
    ]
    pipeline = (
        PipelineBuilder()
        .add_source(shuffled(sorted(map(str, data.pictures.glob("*/*.jpg")))))
        .pipe(one, concurrency=threads)
        .aggregate(256, drop_last=True)
        .pipe(together, concurrency=1)
        .add_sink(2)
        .build(num_threads=threads + 1)
    )
    with pipeline.auto_stop():
        yield from pipeline


def shuffled(paths):
    chance = random.Random(1)
    while True:
        chance.shuffle(paths)
        yield from paths


def decode_torchvision(path):
    return from_bytes(Path(path).read_bytes())


crop = v2.RandomResizedCrop(224)


def decode_spdl(path):
    packets = spdl.io.demux_image(path)
    whole = torch.empty(3, packets.height, packets.width, device="meta")
    box = crop.make_params([whole])
    flip = "hflip," if random.random() < 0.5 else ""
    return spdl.io.decode_packets(
        packets,
        filter_desc=f"crop={box['width']}:{box['height']}:{box['left']}:{box['top']}:exact=1,"
        f"scale=224:224:flags=bilinear,{flip}format=pix_fmts=rgb24",
    )


scale = (1 / (255 * torch.tensor(STD))).view(3, 1, 1)
shift = (-torch.tensor(MEAN) / torch.tensor(STD)).view(3, 1, 1)


def stack_frames(frames):
    pixels = spdl.io.to_torch(spdl.io.convert_frames(frames)).permute(0, 3, 1, 2)
    return torch.addcmul(shift, pixels, scale).contiguous()
