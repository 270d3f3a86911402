"""Hugging Face datasets: Parquet with an Image column, memory-mapped as Arrow, in PyTorch's loader."""

import torch
from datasets import Dataset, Features, Image, Value, load_dataset
from recipe import from_bytes, worker_counts
from torch.utils.data import DataLoader, RandomSampler

TITLE = "Hugging Face datasets"
PACKAGES = ("datasets", "pyarrow")


def variants(cores):
    return [{"workers": n} for n in worker_counts(cores)]


def prepare(data):
    def rows():
        for jpeg, label in data.samples():
            yield {"image": {"bytes": jpeg, "path": None}, "label": label}

    features = Features({"image": Image(), "label": Value("int64")})
    table = Dataset.from_generator(rows, features=features, cache_dir=str(data.own / "cache"))
    table.to_parquet(data.own / "bench.parquet")


def augment(rows):
    return {"image": [from_bytes(image["bytes"]) for image in rows["image"]], "label": rows["label"]}


def collate(samples):
    return torch.stack([sample["image"] for sample in samples])


def batches(data, workers):
    file, cache = str(data.own / "bench.parquet"), str(data.own / "cache")
    pictures = load_dataset("parquet", data_files=file, split="train", cache_dir=cache)
    pictures = pictures.cast_column("image", Image(decode=False)).with_transform(augment)
    sampler = RandomSampler(pictures, num_samples=10**7)
    yield from DataLoader(pictures, batch_size=256, sampler=sampler, num_workers=workers, collate_fn=collate)
