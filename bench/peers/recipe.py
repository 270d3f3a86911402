"""The augmentation of every contender that leaves decoding to its user: torchvision, on one JPEG.

randomResizedCrop(224), horizontal flip, normalise → f32 chw. Two ways that torchvision's documentation shows:
on a tensor (decode_jpeg; the faster one wherever we measured) and on a PIL image (ImageFolder's default).
"""

import io
import warnings

import torch
from PIL import Image
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2

# A picture is too small to be shared out among threads: the contenders use the cores for different pictures.
torch.set_num_threads(1)

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

finish = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD, inplace=True)]
on_tensor = v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), *finish])
on_pil = v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.PILToTensor(), *finish])


def from_bytes(jpeg):
    """The picture as a normalised tensor, by way of decode_jpeg."""
    return on_tensor(decode_jpeg(as_tensor(jpeg), mode=ImageReadMode.RGB))


def from_bytes_with_pil(jpeg):
    return on_pil(Image.open(io.BytesIO(jpeg)).convert("RGB"))


def as_tensor(data):
    """A view of the bytes; torch warns that they can't be written to, which nobody does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return torch.frombuffer(data, dtype=torch.uint8)


def worker_counts(cores):
    """0, 1, 2, 4 … and as many as there are cores."""
    counts = [0, 1]
    while counts[-1] * 2 <= cores:
        counts.append(counts[-1] * 2)
    return counts if counts[-1] == cores else [*counts, cores]
