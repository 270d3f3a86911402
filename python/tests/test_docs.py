"""The guide's Python runs as it stands, from top to bottom, on small data."""

import importlib.util
import io
import re
import tarfile
from pathlib import Path

import pytest

import millrace

pytest.importorskip("PIL")
torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

DOCS = Path(__file__).parents[2] / "docs"


def blocks(guide):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / guide).read_text("utf8"), re.M | re.S)


BLOCKS = blocks("start.md")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Shards and a folder of a few pictures each, in the working directory."""
    from PIL import Image

    def jpeg(number):
        held = io.BytesIO()
        Image.new("RGB", (300, 260), (number * 20 % 256, 90, 30)).save(held, "jpeg")
        return held.getvalue()

    (tmp_path / "shards").mkdir()
    for name in (*(f"train-{n:04d}" for n in range(4)), "val-0000"):
        with tarfile.open(tmp_path / "shards" / f"{name}.tar", "w") as shard:
            for number in range(5):
                for extension, content in (("jpg", jpeg(number)), ("cls", str(number).encode())):
                    member = tarfile.TarInfo(f"{number:03d}.{extension}")
                    member.size = len(content)
                    shard.addfile(member, io.BytesIO(content))
    for number in range(10):
        place = tmp_path / "data" / "train" / ("cat" if number % 2 else "dog")
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.jpg").write_bytes(jpeg(number))
    monkeypatch.chdir(tmp_path)


def test_guide(data):
    steps = []

    def step(image, label):
        steps.append((image, label))
        return image.sum()

    scope = {"torch": torch, "step": step, "state": None}
    scope["train"] = lambda state, batch: (state, step(batch["image"], batch["label"]))
    try:
        for block in BLOCKS:
            if "MyDataset" in block or ("jax" in block and importlib.util.find_spec("jax") is None):
                continue
            if not torch.cuda.is_available():
                block = block.replace('device="cuda"', "")
            wrong = re.search(r"^# (AttributeError|TypeError): (.*)", block, re.M)
            if wrong:
                with pytest.raises((AttributeError, TypeError)) as caught:
                    exec(block, scope)
                assert (type(caught.value).__name__, str(caught.value)) == wrong.groups()
            else:
                exec(block, scope)
            # The first block's `with` has closed it; the guide goes on with one that is open.
            if "with feed.open()" in block:
                scope["loader"] = scope["feed"].open()
    finally:
        for value in scope.values():
            if isinstance(value, millrace.Feed):
                value.close()
    assert scope["feed"].classes == ["cat", "dog"]
    assert len(steps) >= 2 and steps[-1][0].shape == (8, 3, 224, 224)


@pytest.mark.usefixtures("engine")
def test_readme_begins_with_a_loop_that_runs(data):
    """What it is, the Python loop, the two commands, and only then the demo."""
    readme = (DOCS.parent / "README.md").read_text("utf8")
    (loop,) = re.findall(r"^```python\n(.*?)^```", readme, re.M | re.S)
    assert readme.index(loop) < readme.index("npm ci && npm start") < readme.index("The demo makes")
    seen = []
    scope = {"train": lambda *arrays: seen.append([tuple(array.shape) for array in arrays])}
    loop = loop.replace("photos/train", "data/train").replace("batch(256)", "batch(5)")
    exec(loop if torch.cuda.is_available() else loop.replace('device="cuda"', ""), scope)
    assert seen == [[(5, 3, 224, 224), (5,)]] * 2


@pytest.mark.usefixtures("engine")
def test_recipes_of_formats(tmp_path, monkeypatch):
    """All feeds are right as definitions: what the engine misses are the files."""
    monkeypatch.chdir(tmp_path)
    scope = {}
    exec(blocks("formats.md")[0], scope)
    feeds = {
        name: feed for name, feed in scope.items() if isinstance(feed, millrace.Builder) and name != "data"
    }
    assert {"hub", "pairs", "steps", "climate", "even"} <= feeds.keys()
    for feed in feeds.values():
        with pytest.raises(
            millrace.SourceError, match="missing|there is no folder|no file|nothing at|holds no"
        ):
            feed.batch(4).open().close()
