"""Loaders for test_loader.py, which names them: lists of numbers, made slowly by what a loader has."""

from __future__ import annotations

import os
import threading
import time
from multiprocessing import get_context
from queue import Queue


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def generated():
    for _ in range(5):
        time.sleep(0.01)
        yield [0, 1, 2]


class Batches:
    """Can be looped over as often as one likes."""

    batch_size = 4

    def __iter__(self):
        for _ in range(5):
            spin(0.005)
            yield [0, 1, 2, 3]


batches = Batches()


def _make(queue):
    while True:
        spin(0.005)
        queue.put([os.getpid()])


class Processes:
    """One process that spins."""

    def __iter__(self):
        context = get_context("fork")
        queue = context.Queue(2)
        maker = context.Process(target=_make, args=(queue,), daemon=True)
        maker.start()
        try:
            for _ in range(40):
                yield queue.get()
        finally:
            maker.kill()
            maker.join()


class Threads:
    """One thread that spins."""

    def __iter__(self):
        queue, over = Queue(2), threading.Event()

        def make():
            while not over.is_set():
                spin(0.005)
                if queue.qsize() < 2:
                    queue.put([0])

        maker = threading.Thread(target=make)
        maker.start()
        try:
            for _ in range(40):
                yield queue.get()
        finally:
            over.set()
            maker.join()


class Unpickled:
    """A process that makes batches ahead, which the loop itself has to take apart: 5 ms each."""

    def __iter__(self):
        for batch in Processes():
            spin(0.005)
            yield batch


class Samples:
    """By number: a dataset."""

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return i


samples = Samples()


def of_folder(path, size=3):
    raise AssertionError("is never called")


class Nothing:
    def __iter__(self):
        return iter(())


trained = []


def train(batch):
    trained.append(batch)
    print("a step prints something")


def dataset(seconds, busy):
    import torch

    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 200

        def __getitem__(self, i):
            (spin if busy else time.sleep)(seconds)
            return torch.zeros(3), i

    return Slow()


def sleeping():
    import torch

    return torch.utils.data.DataLoader(dataset(0.003, False), batch_size=4, num_workers=2)


def spinning():
    import torch

    return torch.utils.data.DataLoader(dataset(0.003, True), batch_size=4, num_workers=1)
