"""Run by .ci/wheel in a fresh virtual environment, with neither node nor npm on PATH: the wheel has all it
needs."""

import importlib.metadata
import json
import shutil
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np

import millrace
from millrace._client.node import engine_command

HERE = Path(__file__).resolve().parent
VENV = HERE / "venv"


def write_png(path, pixels):
    """A PNG, without a library for it."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


class Squares:
    """A dataset of the user's."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return {"n": i * i}


def check_name():
    """The distribution has a name of its own; the import is millrace."""
    files = importlib.metadata.files("millrace-feed")
    assert any(str(file) == "millrace/__init__.py" for file in files)


def check_places():
    assert shutil.which("node") is None and shutil.which("npm") is None, "PATH must have neither"
    node, engine = map(Path, engine_command())
    for place in (Path(millrace.__file__), node, engine):
        assert VENV in place.resolve().parents, f"{place} is not in {VENV}"


def check_command():
    told = subprocess.run(
        [VENV / "bin" / "millrace", "--version"], capture_output=True, text=True, timeout=300
    )
    assert told.returncode == 0 and told.stdout.strip(), told.stderr


def check_jpeg():
    """JPEG through the wheel's TurboJPEG, an epoch with its loop and its state."""
    feed = (
        millrace.synthetic(20, images=dict(width=64, height=48, classes=5))
        .shuffle(seed=7)
        .fields(image=millrace.image("jpg").center_crop(32).normalize("imagenet"), label=millrace.int("cls"))
        .batch(8, last="keep")
    )
    with feed.open(workers=1) as loader:
        batches = [{name: np.array(batch[name]) for name in ("image", "label")} for batch in loader.numpy()]
    assert [batch["image"].shape for batch in batches] == [(8, 3, 32, 32), (8, 3, 32, 32), (4, 3, 32, 32)]
    assert all(np.isfinite(batch["image"]).all() and batch["image"].std() > 0 for batch in batches)


def check_png():
    """PNG through the wheel's libvips: the bytes that were written come back."""
    pixels = np.random.default_rng(1).integers(0, 256, (2, 16, 24, 3), np.uint8)
    for number, picture in enumerate(pixels):
        write_png(HERE / "pictures" / f"class{number}" / "x.png", picture)
    feed = millrace.folder(HERE / "pictures").fields(
        image=millrace.image("image").center_crop((16, 24)).layout("hwc"), label=millrace.int("label")
    )
    with feed.batch(2).open(workers=1) as loader:
        for batch in loader.numpy():
            assert np.array_equal(batch["image"], pixels) and batch["label"].tolist() == [0, 1]


def check_typescript():
    """A feed in TypeScript, in a folder without any npm package, finds the wheel's Millrace."""
    (HERE / "made.feed.ts").write_text(
        "import { feed, int, synthetic } from 'millrace'\n"
        "const count: number = 6\n"
        "export default feed({ source: synthetic({ count, images: { width: 16, height: 16 } }),\n"
        "  fields: { label: int('cls').map((value: number) => value + 100) }, batch: 3 })\n"
    )
    with millrace.Feed(HERE / "made.feed.ts", workers=1) as loader:
        labels = np.concatenate([np.array(batch["label"]) for batch in loader.numpy()])
    assert len(labels) == 6 and (labels >= 100).all()


def check_python():
    """A dataset in Python: by this program, and by the command line, in the same interpreter."""
    feed = millrace.dataset(Squares()).batch(6)
    with feed.open(workers=1) as loader:
        assert [batch["n"].tolist() for batch in loader.numpy()] == [[0, 1, 4, 9, 16, 25]]
    definition = feed.json()
    (HERE / "squares.json").write_text(json.dumps(definition))
    line = [VENV / "bin" / "millrace", "run", "squares.json", "--json", "--workers", "1"]
    refused = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert refused.returncode != 0 and "--allow-code" in refused.stderr, refused.stderr
    told = subprocess.run([*line, "--allow-code"], capture_output=True, text=True, timeout=300)
    assert told.returncode == 0 and json.loads(told.stdout)["samples"] == 6, told.stderr


def check_signal():
    """A command that is interrupted ends with the status of that: what ends it lies in the wheel, too."""
    feed = {"source": {"synthetic": {"count": 8, "images": {"width": 16, "height": 16}}}, "batch": 1}
    feed["fields"] = {"label": {"from": "cls", "as": "int"}}
    line = [VENV / "bin" / "millrace", "dashboard", json.dumps(feed), "--step-ms", "10"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as shown:
        assert b"http://" in shown.stdout.readline()
        shown.terminate()
        assert shown.wait(60) == 128 + signal.SIGTERM


CHECKS = (
    check_name,
    check_places,
    check_command,
    check_jpeg,
    check_png,
    check_typescript,
    check_python,
    check_signal,
)

if __name__ == "__main__":
    for check in CHECKS:
        check()
    print(f"the wheel of Millrace works with {engine_command()[0]}, Python {sys.version.split()[0]}")
