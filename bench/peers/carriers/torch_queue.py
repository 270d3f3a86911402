"""PyTorch: one worker collates a row into shared memory, the queue carries its file descriptor."""

import torch
from torch.utils.data import DataLoader, IterableDataset

TITLE = "PyTorch worker queue"
PACKAGES = ("torch",)
PLACES = 4096


class Rows(IterableDataset):
    def __init__(self, size):
        self.size = size
        self.pool = torch.randint(0, 256, (size + PLACES,), dtype=torch.uint8)

    def __iter__(self):
        at = 0
        while True:
            yield self.pool[at : at + self.size]
            at = (at + 1) % PLACES


def arrays(size):
    for rows in DataLoader(Rows(size), batch_size=1, num_workers=1):
        yield rows.numpy()
