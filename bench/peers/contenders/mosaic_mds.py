"""Mosaic Streaming: MDS shards by MDSWriter, a StreamingDataset read in place, PyTorch's loader around it."""

from recipe import from_bytes, worker_counts
from streaming import MDSWriter, StreamingDataset
from streaming.base.util import clean_stale_shared_memory
from torch.utils.data import DataLoader

TITLE = "Mosaic Streaming"
PACKAGES = ("mosaicml-streaming",)
# It asks for older numpy and huggingface_hub than the others can live with.
ENVIRONMENT = "mosaic"


def variants(cores):
    return [{"workers": n} for n in worker_counts(cores)]


def prepare(data):
    with MDSWriter(out=str(data.own), columns={"image": "bytes", "label": "int"}) as writer:
        for jpeg, label in data.samples():
            writer.write({"image": jpeg, "label": label})


class Pictures(StreamingDataset):
    def __getitem__(self, index):
        sample = super().__getitem__(index)
        return from_bytes(sample["image"]), sample["label"]


def batches(data, workers):
    # A run that was killed leaves segments in /dev/shm that the next one stumbles over.
    clean_stale_shared_memory()
    pictures = Pictures(
        local=str(data.own), shuffle=True, batch_size=256, epoch_size=10**6, num_canonical_nodes=1
    )
    for images, _labels in DataLoader(pictures, batch_size=256, num_workers=workers, drop_last=True):
        yield images
