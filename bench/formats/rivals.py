"""The rivals: python bench/formats/rivals.py FOLDER. A line of input has case, rival and seconds in JSON; the answer has units, seconds and CPU seconds.

Two workers where PyTorch's DataLoader is used. What came before a second after the first batch is not counted.
"""

import gc
import itertools
import json
import multiprocessing
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version

import numpy as np

folder = pathlib.Path(sys.argv[1])
SHAPES = {"18": (2, 1500, 1500), "147": (36, 1010, 1010)}
# Of the turn: the case, and the volumes it is about.
case, size, shape, mb = "", "18", SHAPES["18"], 0.0
TICKS = os.sysconf("SC_CLK_TCK")
WARM = 1  # s, as feed.mjs has
USED: list[str] = ["numpy"]


class Rows:
    """A dataset of PyTorch: row i by `read`, with what `opened` gives once in each worker."""

    def __init__(self, count: int, read: Callable[[object, int], object], opened: Callable[[], object]) -> None:
        self.count, self.read, self.opened = count, read, opened
        self.state: object = None

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> object:
        import torch

        if self.state is None:
            self.state = self.opened()
        return torch.from_numpy(self.read(self.state, i))


def loader(dataset: object, **options: object) -> Iterator[object]:
    """Epoch after epoch, by two workers that stay."""
    from torch.utils.data import DataLoader

    USED.append("torch")
    made = DataLoader(dataset, num_workers=2, persistent_workers=True, **options)
    while True:
        yield from made


def volumes(read: Callable[[object, int], object], opened: Callable[[], object], count: int) -> Iterable[float]:
    return (mb for _ in loader(Rows(count, read, opened), batch_size=1, shuffle=True))


def names(kind: str, ending: str) -> list[pathlib.Path]:
    return sorted((folder / f"volumes/{kind}-{size}").glob(f"*.{ending}"))


def np_load() -> Iterable[float]:
    files = names("npy", "npy")
    return volumes(lambda _, i: np.load(files[i]), lambda: True, len(files))


def np_load_npz() -> Iterable[float]:
    files = names("npz-deflate" if "deflated" in case else "npz", "npz")
    return volumes(lambda _, i: np.load(files[i])["data"], lambda: True, len(files))


def h5_file() -> pathlib.Path:
    kind = "plain" if "contiguous" in case else case.split(", ")[1]
    return folder / f"volumes/{kind}-{size}.h5"


def opened_h5() -> object:
    import h5py

    return h5py.File(h5_file(), "r")["data"]


def h5py_rows() -> Iterable[float]:
    USED.append("h5py")
    return volumes(lambda data, i: data[i], opened_h5, len(opened_h5()))


def h5py_alone() -> Iterable[float]:
    """In this process, without a DataLoader: what one thread does."""
    USED.append("h5py")
    data = opened_h5()
    while True:
        for i in np.random.permutation(len(data)):
            data[i]
            yield mb


def h5py_direct() -> Iterable[float]:
    USED.append("h5py")

    def read(data: object, i: int) -> object:
        out = np.empty(shape, "f4")
        data.read_direct(out, np.s_[i])
        return out

    return volumes(read, opened_h5, len(opened_h5()))


def zarr_python() -> Iterable[float]:
    import zarr

    USED.append("zarr")
    store = folder / f"volumes/{case.split(', ')[1]}-{size}.zarr"
    count = zarr.open_array(store, mode="r").shape[0]
    return volumes(lambda data, i: data[i], lambda: zarr.open_array(store, mode="r"), count)


def plain_read() -> Iterable[float]:
    """Two threads, each with a buffer of its own, read the .npy files: what the machine gives."""
    from concurrent.futures import ThreadPoolExecutor

    files = names("npy", "npy")
    buffers = [bytearray(int(mb * 1e6)) for _ in range(2)]

    def read(turn: int) -> float:
        with open(files[turn % len(files)], "rb", buffering=0) as file:
            file.seek(128)
            return file.readinto(buffers[turn % 2]) / 1e6

    with ThreadPoolExecutor(2) as pool:
        for turn in itertools.count(0, 2):
            yield from pool.map(read, (turn, turn + 1))


def text_files() -> tuple[str, list[str]]:
    """The kind of files of a case, as `datasets` calls it, and the files: two, one for each worker."""
    kind, _, codec = case.replace(" text", "").partition(", ")
    if kind == "Arrow":
        return "arrow", sorted(map(str, (folder / "texts/arrow").glob("*.arrow")))
    ending = {"Parquet": "parquet", "JSONL": "jsonl", "CSV": "csv"}[kind]
    prefix = f"{codec}-" if codec else ""
    names = [str(folder / f"texts/{prefix}{i}.{ending}") for i in range(2)]
    return {"jsonl": "json"}.get(ending, ending), names


def hugging_face() -> Iterable[float]:
    import datasets

    USED.extend(["datasets", "pyarrow"])
    kind, files = text_files()
    # Parquet reads the wanted column only; the others read all, and drop the rest.
    options = {"columns": ["text"]} if kind == "parquet" else {}
    made = datasets.load_dataset(kind, data_files=files, split="train", streaming=True, **options)
    return (len(batch["text"]) for batch in loader(made.select_columns(["text"]), batch_size=256))


def datasets_rows() -> Iterable[float]:
    import datasets

    USED.extend(["datasets", "pyarrow"])
    made = datasets.load_from_disk(str(folder / "texts/arrow")).select_columns(["text"])
    return (len(batch["text"]) for batch in loader(made, batch_size=256, shuffle=True))


def pandas_texts() -> Iterable[float]:
    import pandas as pd

    USED.append("pandas")
    kind, files = text_files()
    while True:
        for name in files:
            if kind == "json":
                parts = pd.read_json(name, lines=True, chunksize=2048)
            else:
                parts = pd.read_csv(name, usecols=["text"], chunksize=2048)
            with parts:
                for part in parts:
                    yield len(part["text"].to_list())


def mosaic_lists() -> Iterable[float]:
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    USED.append("mosaicml-streaming")
    clean_stale_shared_memory()
    made = StreamingDataset(local=str(folder / "lists/mds"), shuffle=True, batch_size=256)
    return (len(batch["tokens"]) for batch in loader(made, batch_size=256))


def litdata_lists() -> Iterable[float]:
    from litdata import StreamingDataLoader, StreamingDataset
    from litdata.streaming.item_loader import TokensLoader

    USED.extend(["litdata", "torch"])
    blocks = TokensLoader(block_size=1024)
    made = StreamingDataset(str(folder / "lists/litdata"), item_loader=blocks, shuffle=True)
    batches = StreamingDataLoader(made, batch_size=256, num_workers=2, persistent_workers=True)
    while True:
        for batch in batches:
            yield len(batch)


def pyarrow_lists() -> Iterable[float]:
    import pyarrow.parquet as pq

    USED.append("pyarrow")
    file = pq.ParquetFile(folder / "lists/lists.parquet", memory_map=True)
    out = np.empty((256, 1024), "i4")
    while True:
        for group in range(file.num_row_groups):
            values = file.read_row_group(group, columns=["tokens"], use_threads=False)["tokens"].combine_chunks()
            rows = values.flatten().to_numpy().reshape(-1, 1024)
            for at in range(0, len(rows), 256):
                some = rows[at : at + 256]
                out[: len(some)] = some
                yield len(some)


RIVALS: dict[str, Callable[[], Iterable[float]]] = {
    "DataLoader, np.load": np_load,
    "DataLoader, np.load of npz": np_load_npz,
    "DataLoader, h5py d[i]": h5py_rows,
    "DataLoader, h5py read_direct": h5py_direct,
    "h5py d[i], one process": h5py_alone,
    "DataLoader, zarr-python": zarr_python,
    "plain read": plain_read,
    "Hugging Face streaming": hugging_face,
    "DataLoader, datasets d[i]": datasets_rows,
    "pandas, one process": pandas_texts,
    "pyarrow, one thread": pyarrow_lists,
    "DataLoader, StreamingDataset": mosaic_lists,
    "StreamingDataLoader of LitData": litdata_lists,
}


def cpu() -> float:
    """CPU seconds of this process and its workers."""
    total = 0
    for pid in (os.getpid(), *(child.pid for child in multiprocessing.active_children())):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def turn(rival: str, seconds: float) -> dict[str, object]:
    steps = iter(RIVALS[rival]())
    next(steps)
    warm = time.perf_counter() + WARM
    while time.perf_counter() < warm:
        next(steps)
    begun, cpu_begun, units = time.perf_counter(), cpu(), 0.0
    while time.perf_counter() < begun + seconds:
        units += next(steps)
    result = {"units": units, "seconds": time.perf_counter() - begun, "cpu": cpu() - cpu_begun}
    return {**result, "versions": {name: version(name) for name in dict.fromkeys(USED)}}


for line in sys.stdin:
    asked = json.loads(line)
    case = asked["name"]
    size = "147" if "147" in case else "18"
    shape = SHAPES[size]
    mb = int(np.prod(shape)) * 4 / 1e6
    try:
        answer = turn(asked["rival"], asked["seconds"])
    except Exception as error:  # noqa: BLE001 (it is the answer)
        answer = {"failed": repr(error)}
    gc.collect()  # ends the workers
    print(json.dumps(answer), flush=True)
