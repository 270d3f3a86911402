"""PyTorch's streams, events and tensors on a device that runs as late as it can, and a view on it."""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from contextlib import contextmanager
from functools import partial

import numpy as np

from millrace._cuda.errors import CudaError
from millrace._view.pins import driver_pins


class FakeStream:
    """A queue of work that nobody does until somebody must."""

    def __init__(self, device=None):
        self.work = deque()

    def wait_event(self, event):
        self.work.append(event)

    def step(self):
        """Does the next piece of work, if it may be done already."""
        if not self.work:
            return False
        if isinstance(self.work[0], FakeEvent):
            if not self.work[0].come:
                return False
            self.work.popleft()
        else:
            self.work.popleft()()
        return True


class FakeEvent:
    def __init__(self, enable_timing=False, blocking=False):
        self.come = False

    def elapsed_time(self, other):
        if not (self.come and other.come):
            raise RuntimeError("CUDA error: device not ready")
        return 1.0

    def record(self, stream):
        self.stream = stream
        stream.work.append(lambda: setattr(self, "come", True))

    def query(self):
        return self.come

    def synchronize(self):
        while not self.come:
            assert self.stream.step()


class FakeCuda:
    """PyTorch's streams and events, and the driver's page-locking."""

    Stream, Event = FakeStream, FakeEvent

    def __init__(self, refuse=False):
        self.mine = self.now = FakeStream()
        self.locked = []
        self.refuse = refuse
        self.lost = False

    @contextmanager
    def stream(self, stream):
        before, self.now = self.now, stream
        yield
        self.now = before

    def current_stream(self, device):
        return self.now

    @contextmanager
    def current(self):
        yield

    def register(self, address, size):
        if self.refuse:
            raise CudaError("CUDA_ERROR_OUT_OF_MEMORY", "cuMemHostRegister_v2")
        if address in self.locked:
            raise CudaError("CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "cuMemHostRegister_v2")
        self.locked.append(address)

    def unregister(self, address):
        if address not in self.locked:
            raise CudaError("CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "cuMemHostUnregister")
        self.locked.remove(address)
        if self.lost:
            raise CudaError("CUDA_ERROR_ILLEGAL_ADDRESS", "cuMemHostUnregister")


class FakeTensor:
    def __init__(self):
        self.value = None
        self.streams = []

    def record_stream(self, stream):
        self.streams.append(stream)


def late_read(out, array):
    """The bytes are read when the device gets to it, which keeps nobody from giving the slot back before."""
    if array.base is None:  # ordinary memory: CUDA has read it when the call returns
        return partial(setattr, out, "value", array)
    lease, shape, dtype = weakref.ref(array.base), array.shape, array.dtype
    offset = array.ctypes.data - ctypes.addressof(array.base)

    def read():
        slot = lease()
        assert slot is not None, "the slot was given back before the device had read it"
        out.value = np.ndarray(shape, dtype, slot, offset).copy()

    return read


def view_of(feed, cuda, prefetch=2):
    """A view whose copies are made by that device, late; and the carrier that brings them there."""
    import torch

    from millrace._view.torch_cuda import TorchCuda
    from millrace.feed import run_of
    from millrace.views import View

    def upload(name, array):
        out = FakeTensor()
        cuda.now.work.append(late_read(out, array))
        return out

    device, pins = torch.device("cuda"), driver_pins(0, cuda)
    carrier = TorchCuda(run_of(feed), device, prefetch, cuda=cuda, upload=upload, pins=pins)
    return View(run_of(feed), carrier), carrier
