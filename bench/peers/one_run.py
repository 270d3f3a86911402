"""One contender in a process of its own: describes it, prepares its data, or measures it once.

python one_run.py CONTENDER.py RESULT.json describe
python one_run.py CONTENDER.py RESULT.json prepare DATA
python one_run.py CONTENDER.py RESULT.json measure DATA SECONDS VARIANT-AS-JSON
python one_run.py CARRIER.py RESULT.json carry BYTES TOUCH SECONDS
"""

import importlib.metadata
import importlib.util
import json
import os
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "contenders"), str(HERE.parents[1] / "python")]

import meter  # noqa: E402
from carry import carry  # noqa: E402
from data import Data  # noqa: E402

BATCH = 256
SHAPE = (BATCH, 3, 224, 224)
PAGE = 4096


def load(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    # Loaders that start their workers with spawn find the module by this name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def describe(contender):
    variants = getattr(contender, "variants", lambda cores: [])
    return {
        "title": contender.TITLE,
        "variants": variants(len(os.sched_getaffinity(0))),
        "versions": {name: version(name) for name in contender.PACKAGES},
    }


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def prepare(contender, data):
    """Into an empty folder: what a stopped attempt left is thrown away."""
    shutil.rmtree(data.own, ignore_errors=True)
    data.own.mkdir()
    begun = time.perf_counter()
    contender.prepare(data)
    return {"seconds": time.perf_counter() - begun}


def check(images):
    """All contenders promise the same: f32, channels first, normalised. A few rows tell."""
    if tuple(images.shape) != SHAPE or not str(images.dtype).endswith("float32"):
        raise ValueError(f"a batch is {tuple(images.shape)} of {images.dtype}, not {SHAPE} of float32")
    rows = images[::64]
    low, high, spread = float(rows.min()), float(rows.max()), float(rows.std())
    if not (-2.2 < low < 0 < high < 2.7 and 0.3 < spread < 2):
        raise ValueError(f"pixels from {low:.2f} to {high:.2f}, spread {spread:.2f}: not normalised pictures")


def touch(images):
    """Reads a byte of every page, as a trainer would: memory that nobody has mapped can't be measured."""
    array = images.numpy() if hasattr(images, "numpy") else images
    return array.reshape(-1).view("u1")[::PAGE].max()


def measure(contender, data, seconds, variant):
    """Batches for `seconds`, counted from the moment the first one is there."""
    in_python = getattr(contender, "IN_PYTHON", True)
    me = os.getpid()
    opened = time.perf_counter()
    stream = contender.batches(data, **variant)
    batch = next(stream)
    first = time.perf_counter() - opened
    if in_python:
        check(batch)
        touch(batch)
    cpu, machine = meter.cpu_seconds(me), meter.machine_cpu_seconds()
    begun = time.perf_counter()
    batches = 0
    while (passed := time.perf_counter() - begun) < seconds:
        batch = next(stream)
        if in_python:
            touch(batch)
        batches += 1
    cpu, machine = meter.cpu_seconds(me) - cpu, meter.machine_cpu_seconds() - machine
    stream.close()
    images = batches * BATCH
    return {
        "imagesPerSecond": images / passed,
        "firstBatchSeconds": first,
        "cpuSecondsPer1000": cpu / images * 1000,
        "coresUsed": cpu / passed,
        "coresUsedByOthers": max(0, machine - cpu) / passed,
        "batches": batches,
        "seconds": passed,
    }


def main(path, result, action, *args):
    meter.adopt_orphans()
    contender = load(path)
    if action == "describe":
        answer = describe(contender)
    elif action == "prepare":
        answer = prepare(contender, Data(args[0], contender.__name__))
    elif action == "measure":
        folder, seconds, variant = args
        answer = measure(contender, Data(folder, contender.__name__), float(seconds), json.loads(variant))
    else:
        size, touch, seconds = args
        answer = carry(contender, int(size), json.loads(touch), float(seconds))
    Path(result).write_text(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
