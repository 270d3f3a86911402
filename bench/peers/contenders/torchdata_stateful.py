"""torchdata's StatefulDataLoader: PyTorch's loader with a state, over the same ImageFolder."""

from recipe import worker_counts
from torch_dataloader import dataset
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import RandomSampler

TITLE = "torchdata StatefulDataLoader"
PACKAGES = ("torchdata",)


def variants(cores):
    return [{"workers": n} for n in worker_counts(cores)]


def prepare(data):
    """An ImageFolder is what the pictures are already."""


def batches(data, workers):
    pictures = dataset(data, "tensor")
    sampler = RandomSampler(pictures, num_samples=10**7)
    for images, _labels in StatefulDataLoader(pictures, batch_size=256, sampler=sampler, num_workers=workers):
        yield images
