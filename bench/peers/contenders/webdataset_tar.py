"""WebDataset: tar shards by its ShardWriter, a shuffle buffer of 1,000 samples, batched in the workers."""

import webdataset as wds
from recipe import from_bytes, worker_counts

TITLE = "WebDataset"
PACKAGES = ("webdataset",)
SHARDS = 16


def variants(cores):
    return [{"workers": n} for n in worker_counts(cores)]


def prepare(data):
    samples = list(data.samples())
    with wds.ShardWriter(
        f"{data.own}/bench-%04d.tar", maxcount=-(-len(samples) // SHARDS), verbose=0
    ) as writer:
        for i, (jpeg, label) in enumerate(samples):
            writer.write({"__key__": f"{i:06d}", "jpg": jpeg, "cls": label})


def batches(data, workers):
    shards = sorted(map(str, data.own.glob("*.tar")))
    pictures = (
        wds.WebDataset(shards, resampled=True, nodesplitter=None)
        .shuffle(1000)
        .to_tuple("jpg", "cls")
        .map_tuple(from_bytes, int)
        .batched(256, partial=False)
    )
    for images, _labels in wds.WebLoader(pictures, batch_size=None, num_workers=workers):
        yield images
