"""PyTorch's DataLoader over torchvision's ImageFolder: what everybody starts from."""

from recipe import on_pil, on_tensor, worker_counts
from torch.utils.data import DataLoader, RandomSampler
from torchvision.datasets import ImageFolder
from torchvision.io import ImageReadMode, decode_image

TITLE = "PyTorch DataLoader + ImageFolder"
PACKAGES = ("torch", "torchvision", "pillow")


def variants(cores):
    return [{"workers": n, "decode": how} for n in worker_counts(cores) for how in ("tensor", "pil")]


def prepare(data):
    """An ImageFolder is what the pictures are already."""


def dataset(data, decode):
    if decode == "pil":
        return ImageFolder(data.pictures, transform=on_pil)
    return ImageFolder(data.pictures, transform=on_tensor, loader=read_tensor)


def read_tensor(path):
    return decode_image(path, mode=ImageReadMode.RGB)


def batches(data, workers, decode):
    pictures = dataset(data, decode)
    # One epoch without an end: the gap between two is nobody's in this comparison.
    sampler = RandomSampler(pictures, num_samples=10**7)
    for images, _labels in DataLoader(pictures, batch_size=256, sampler=sampler, num_workers=workers):
        yield images
