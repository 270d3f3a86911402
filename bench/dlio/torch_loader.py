"""A workload fed by PyTorch's DataLoader, the way DLIO's readers work; prints one JSON object.

    python bench/dlio/torch_loader.py '{"workload": "unet3d", "folder": …, "files": …, "batch": …, …}'

As in DLIO, a sample is read whole and an array made beforehand, of the resized size, is returned: what is
collated and sent between processes is that array, not what was read. TFRecords are read by a few lines of
Python, without comparing checksums, which favours this side. Pictures are decoded and resized, as
Millrace's are.
"""

import io
import json
import os
import resource
import struct
import sys
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

# Bytes of the array that DLIO returns for a sample, at full size.
RESIZED = {"unet3d": 2_097_152, "cosmoflow": 2_097_152, "resnet50": 150_528}
SIDE = 800
HEAD, FOOT = 12, 4


class Records(Dataset):
    def __init__(self, given):
        ending = {"unet3d": ".npz", "retinanet": ".jpg"}.get(given["workload"], ".tfrecord")
        names = sorted(name for name in os.listdir(given["folder"]) if name.endswith(ending))
        self.paths = [os.path.join(given["folder"], name) for name in names[: given["files"]]]
        self.per_file = given["recordsPerFile"]
        self.read = getattr(self, given["workload"])
        size = RESIZED.get(given["workload"])
        # Of scaled records, a scaled array.
        self.resized = size and np.random.default_rng(0).integers(
            0, 255, int(size * given["scale"]), dtype=np.uint8
        )
        self.handles, self.starts = {}, {}

    def __len__(self):
        return len(self.paths) * self.per_file

    def __getitem__(self, index):
        return self.read(*divmod(index, self.per_file))

    def unet3d(self, file, _record):
        np.load(self.paths[file])["x"]
        return self.resized

    def cosmoflow(self, file, _record):
        with open(self.paths[file], "rb") as opened:
            data = opened.read()
        check(data)
        return self.resized

    def resnet50(self, file, record):
        if file not in self.handles:
            self.handles[file] = os.open(self.paths[file], os.O_RDONLY)
            self.starts[file] = starts(self.paths[file])
        begin, end = self.starts[file][record : record + 2]
        check(os.pread(self.handles[file], end - begin, begin))
        return self.resized

    def retinanet(self, file, _record):
        from PIL import Image

        with open(self.paths[file], "rb") as opened:
            picture = Image.open(io.BytesIO(opened.read())).convert("RGB")
        return np.asarray(picture.resize((SIDE, SIDE), Image.BILINEAR))


def check(record):
    (length,) = struct.unpack_from("<Q", record)
    if HEAD + length + FOOT != len(record):
        raise ValueError(f"a record of {length} bytes where {len(record) - HEAD - FOOT} were expected")


def starts(path):
    """Where each record of a TFRecord file begins, and the end of the last."""
    found, at, end = [0], 0, os.path.getsize(path)
    with open(path, "rb") as opened:
        while at < end:
            opened.seek(at)
            at += HEAD + FOOT + struct.unpack("<Q", opened.read(8))[0]
            found.append(at)
    return found


def train(loader, compute, steps):
    """(epoch, asked, got, done, compute) of each step; an epoch that ends is followed by the next one."""
    done, epoch = [], 0
    while len(done) < steps:
        asked = time.perf_counter()
        for _ in loader:
            got = time.perf_counter()
            time.sleep(compute)
            now = time.perf_counter()
            done.append((epoch, asked, got, now, now - got))
            asked = now
            if len(done) == steps:
                break
        epoch += 1
    return done


def utilisation(steps, compute):
    """As DLIO's code counts it, and by its rules: the mean over epochs, the first step of each left out."""
    found = []
    for epoch in sorted({step[0] for step in steps}):
        block = [step for step in steps if step[0] == epoch]
        if len(block) > 1:
            wall = block[-1][3] - block[0][3]
            slept = sum(step[4] for step in block[1:])
            found.append((slept / wall, compute * (len(block) - 1) / wall))
    return {name: sum(au[i] for au in found) / len(found) for i, name in enumerate(("dlio", "nominal"))}


def main():
    given = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    workers = given["workers"]
    more = {"prefetch_factor": 2, "persistent_workers": True} if workers else {}
    loader = DataLoader(
        Records(given), batch_size=given["batch"], shuffle=True, drop_last=True, num_workers=workers, **more
    )
    compute = given["computeMs"] / 1000
    begun = time.perf_counter()
    steps = train(loader, compute, given["steps"])
    rate = (len(steps) - 1) * given["batch"] / (steps[-1][3] - steps[0][3])
    result = {
        "au": utilisation(steps, compute),
        "samplesPerSecond": rate,
        "bytesPerSecond": rate * given["recordBytes"],
        "firstBatchMs": 1000 * (steps[0][2] - begun),
        "versions": {"torch": torch.__version__, "numpy": np.__version__, "python": sys.version.split()[0]},
    }
    del loader
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    result["cpuSeconds"] = sum(use.ru_utime + use.ru_stime for use in uses)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
