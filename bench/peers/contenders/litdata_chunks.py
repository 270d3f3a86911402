"""LitData: chunks of 64 MB by optimize(), a StreamingDataset over the local folder, its own loader."""

from litdata import StreamingDataLoader, StreamingDataset, optimize
from recipe import from_bytes, worker_counts

TITLE = "LitData"
PACKAGES = ("litdata",)


def variants(cores):
    return [{"workers": n} for n in worker_counts(cores)]


def prepare(data):
    paths = sorted(map(str, data.pictures.glob("*/*.jpg")))
    optimize(fn=sample, inputs=paths, output_dir=str(data.own), chunk_bytes="64MB", num_workers=1)


def sample(path):
    with open(path, "rb") as file:
        return {"image": file.read(), "label": int(path.split("/")[-2])}


class Pictures(StreamingDataset):
    def __getitem__(self, index):
        sample = super().__getitem__(index)
        return from_bytes(sample["image"]), sample["label"]


def batches(data, workers):
    """It has no endless epoch: where the pictures run out within a run, the gap between two counts."""
    pictures = Pictures(str(data.own), shuffle=True, drop_last=True)
    loader = StreamingDataLoader(pictures, batch_size=256, num_workers=workers, drop_last=True)
    while True:
        for images, _labels in loader:
            yield images
