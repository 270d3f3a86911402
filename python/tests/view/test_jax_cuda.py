"""JAX on a GPU: every batch goes through the device stage, ahead of the user, on a device that is a fake."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from fake_cuda import FakeDecoder, FakeDriver, FakeKernels
from patience import wait_until

import millrace
from millrace._cuda.nvjpeg import Jpegs
from millrace._gpu.stage import DeviceStage
from millrace._gpu.tools import Tools
from millrace._view.jax_cuda import JaxCuda
from millrace._view.pins import driver_pins
from millrace.feed import run_of
from millrace.views import View

jax = pytest.importorskip("jax")

#: JAX, but for taking arrays over: it can't know of a device that is not there.
LIBRARY = SimpleNamespace(
    config=jax.config,
    device_put=lambda value, device: jax.device_put(value),
    dlpack=SimpleNamespace(from_dlpack=lambda array: array.copy_to_host()),
    jit=jax.jit,
)


def view_of(feed, driver, prefetch=2):
    """A view whose arrays come from that device."""

    def opened(pictures, _folder, _device, memory):
        def tools():
            decoder = lambda _library, backend: FakeDecoder(driver, backend)  # noqa: E731
            return Tools(driver, FakeKernels(driver), lambda: Jpegs(None, driver.synchronize_stream, decoder))

        return DeviceStage(tools, pictures, memory)

    pins = driver_pins(0, driver)
    carrier = JaxCuda(run_of(feed), None, prefetch, "cpu", LIBRARY, opened, pins)
    return View(run_of(feed), carrier)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_batches_come_in_order_and_their_slots_go_back(fake, prefetch):
    driver = FakeDriver(prefetch)
    with millrace.Feed(fake(40), depth=4) as feed:
        view = view_of(feed, driver, prefetch)
        for epoch in range(2):
            for i, batch in enumerate(view):
                first = 1000 * epoch + 4 * i
                # Without jax_enable_x64, 64 bits become 32.
                assert batch["number"].dtype == np.int32
                assert batch["number"].tolist() == [first, first + 1, first + 2, first + 3]
                assert batch["parts"].offsets.tolist()[0] == 0 and batch["caption"][0] == f"sample {first}"
                assert batch.device_pointers.keys() >= {"number", "image"}
                assert feed.state_dict()["position"] == (4 * (i + 1)) % 40
            assert i == 9
        leases = run_of(feed).stream.client.leases
        driver.finish()
        assert wait_until(lambda: leases.settle() or len(leases) == 0)
        assert feed.stats()["copies"] == 0 and feed.stats()["device"]["decode"] == "cpu"
    del view, batch
    assert wait_until(lambda: not driver.allocated)


def test_a_loop_that_is_left_waits_for_its_batches(fake):
    driver = FakeDriver(3)
    with millrace.Feed(fake(40), depth=4) as feed:
        view = view_of(feed, driver)
        for step, batch in enumerate(view):
            assert batch["number"][0] == 4 * step
            if step == 1:
                break
        del batch
        leases = run_of(feed).stream.client.leases
        leases.settle()
        assert len(leases) == 0  # nothing refers to a slot when the loop is over
        assert next(iter(view))["number"][0] == 1000
