"""Arrays of the device in other libraries' hands: DLPack, the CUDA array interface, whose memory it is."""

from __future__ import annotations

import ctypes
import gc
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from fake_cuda import FakeDriver, memory_at

from millrace._cuda import dlpack
from millrace._cuda.arrays import DeviceArray, compact
from millrace._cuda.events import Events
from millrace._cuda.memory import Pool, PoolMemory, TorchMemory, rounded
from millrace._view.jax_cuda import Fence, fenced_memory


@pytest.fixture
def driver():
    return FakeDriver(1)


@pytest.fixture
def pool(driver):
    return Pool(driver, Events(driver))


def array_of(driver, pool, values, kind, device_type=dlpack.CPU):
    """An array on the fake device, which is CPU memory, and may say so."""
    buffer = pool.take(max(1, values.nbytes))
    memory_at(buffer.address, values.nbytes)[:] = values.reshape(-1).view(np.uint8)
    return DeviceArray(driver, buffer, buffer.address, values.shape, kind, device_type=device_type)


KINDS = ["u8", "i8", "u16", "i16", "i32", "u32", "i64", "f16", "f32", "f64", "bool"]


@pytest.mark.parametrize("kind", KINDS)
def test_numpy_takes_it_over_without_a_copy(driver, pool, kind):
    from millrace._client.layout import numpy_dtype

    values = (
        (np.arange(24) % 2 if kind == "bool" else np.arange(24)).astype(numpy_dtype(kind)).reshape(2, 3, 4)
    )
    array = array_of(driver, pool, values, kind)
    taken = np.from_dlpack(array)
    assert taken.dtype == values.dtype and np.array_equal(taken, values)
    assert taken.ctypes.data == array.address
    turned = np.from_dlpack(array.permuted(0, 2, 1))
    assert np.array_equal(turned, values.transpose(0, 2, 1)) and turned.ctypes.data == array.address


def test_the_memory_lives_as_long_as_anybody_has_it(driver, pool):
    before = dlpack.exported()
    array = array_of(driver, pool, np.arange(10.0), "f64")
    address = array.address
    taken = np.from_dlpack(array)
    part = taken[3:]
    del array, taken
    gc.collect()
    pool.collect()
    assert dlpack.exported() == before + 1 and pool.idle == 0
    assert part[0] == 3
    del part
    gc.collect()
    pool.collect()
    assert dlpack.exported() == before
    assert pool.take(80).address == address


def test_a_capsule_that_nobody_takes_frees_itself(driver, pool):
    before = dlpack.exported()
    array = array_of(driver, pool, np.arange(10.0), "f64")
    capsule = array.__dlpack__(stream=-1)
    assert 'capsule object "dltensor"' in repr(capsule) and dlpack.exported() == before + 1
    del capsule
    assert dlpack.exported() == before


def test_a_capsule_that_was_taken_leaves_the_end_to_the_taker(driver, pool):
    """As a library does it: rename, and call the deleter when done, in any thread."""
    before = dlpack.exported()
    array = array_of(driver, pool, np.arange(10.0), "f64")
    capsule = array.__dlpack__(stream=-1)
    api = ctypes.pythonapi
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", api))
    address, used = get(capsule, b"dltensor"), b"used_dltensor"
    managed = dlpack.DLManagedTensor.from_address(address)
    assert rename(capsule, used) == 0
    del capsule, array
    gc.collect()
    assert dlpack.exported() == before + 1
    tensor = managed.tensor
    assert (tensor.ndim, tensor.code, tensor.bits, tensor.lanes, tensor.shape[0]) == (1, 2, 64, 1, 10)
    assert ctypes.sizeof(dlpack.DLTensor) == 48 and ctypes.sizeof(dlpack.DLManagedTensor) == 64
    thread = threading.Thread(target=managed.deleter, args=(address,))
    thread.start()
    thread.join()
    assert dlpack.exported() == before


def test_torch_takes_bfloat16(driver, pool):
    torch = pytest.importorskip("torch")
    values = torch.tensor([1.5, -2.0, 3.25]).bfloat16()
    array = array_of(driver, pool, values.view(torch.int16).numpy(), "bf16")
    taken = torch.from_dlpack(array)
    assert taken.dtype == torch.bfloat16 and torch.equal(taken, values)
    assert taken.data_ptr() == array.address


def test_jax_takes_it(driver, pool):
    jax = pytest.importorskip("jax")
    values = np.arange(64, dtype=np.float32).reshape(8, 8)
    array = array_of(driver, pool, values, "f32")
    taken = jax.dlpack.from_dlpack(array)
    assert np.array_equal(np.asarray(taken), values)
    assert taken.unsafe_buffer_pointer() == array.address


class TestStreams:
    """Whose stream waits for what."""

    @pytest.fixture
    def array(self, driver, pool):
        array = array_of(driver, pool, np.arange(4.0), "f64", dlpack.CUDA)
        own = driver.stream()
        driver.stir = lambda most=3: None
        driver.streams[own].append(lambda: None)
        array.ready = Events(driver).take().record(own)
        return array

    @pytest.mark.parametrize(("given", "waits"), [(None, 1), (1, 1), (77, 77)])
    def test_the_consumers_stream_waits(self, driver, array, given, waits):
        driver.streams.setdefault(77, type(driver.streams[1])())
        array.__dlpack__(stream=given)
        assert [stream for stream, work in driver.streams.items() if [False] in work] == [waits]
        assert array.owner.streams == {waits}

    def test_a_threads_own_stream(self, driver, array):
        driver.streams[2] = type(driver.streams[1])()
        array.__dlpack__(stream=2)
        assert [False] in driver.streams[2] and array.owner.streams == {1}

    def test_nobody_waits_when_asked_not_to(self, driver, array):
        array.__dlpack__(stream=-1)
        assert not any([False] in work for work in driver.streams.values())

    def test_stream_zero_is_refused(self, array):
        with pytest.raises(ValueError, match="ambiguous"):
            array.__dlpack__(stream=0)

    def test_no_copies(self, array):
        with pytest.raises(BufferError):
            array.__dlpack__(copy=True)
        with pytest.raises(BufferError):
            array.__dlpack__(dl_device=(1, 0))
        array.__dlpack__(dl_device=(2, 0), copy=False, max_version=(1, 1))

    def test_the_cuda_array_interface(self, driver, array):
        told = array.__cuda_array_interface__
        assert told == {
            "version": 3, "shape": (4,), "typestr": "<f8", "data": (array.address, False), "strides": None,
            "stream": 1,
        }  # fmt: skip
        assert [False] in driver.streams[1] and array.owner.streams == {1}

    def test_strides_are_in_bytes_there(self, driver, pool):
        array = array_of(driver, pool, np.zeros((2, 3, 4), np.float32), "f32", dlpack.CUDA)
        assert array.permuted(0, 2, 1).__cuda_array_interface__["strides"] == (48, 4, 16)
        with pytest.raises(ValueError, match="before permuting"):
            array.permuted(0, 2, 1).copy_to_host()

    def test_it_has_no_bfloat16(self, driver, pool):
        array = array_of(driver, pool, np.zeros(4, np.uint16), "bf16", dlpack.CUDA)
        assert not hasattr(array, "__cuda_array_interface__")


def test_compact():
    assert compact((2, 3, 4)) == (12, 4, 1) and compact((5,)) == (1,) and compact((2, 0, 4)) == (4, 4, 1)
    assert compact(()) == ()


class TestPool:
    """Buffers come back when nobody has them, and no stream either."""

    @staticmethod
    def comes_back_when_all_is_done(driver, pool, address):
        other = pool.take(10_000)
        assert other.address != address
        driver.finish()
        assert pool.take(10_000).address == address

    def test_a_stream_that_is_behind_keeps_its_buffer(self, driver, pool):
        driver.stir = lambda most=3: None
        mine = driver.stream()
        driver.streams[mine].append(lambda: None)
        buffer = pool.take(10_000)
        buffer.streams.add(mine)
        address = buffer.address
        del buffer
        self.comes_back_when_all_is_done(driver, pool, address)

    def test_the_stages_own_work_counts(self, driver, pool):
        driver.stir = lambda most=3: None
        own = driver.stream()
        buffer = pool.take(10_000)
        driver.streams[own].append(lambda: None)
        buffer.finished = Events(driver).take().record(own)
        address = buffer.address
        del buffer
        self.comes_back_when_all_is_done(driver, pool, address)

    def test_a_stream_that_is_captured_is_left_alone(self, driver, pool):
        mine = driver.stream()
        driver.captured.add(mine)
        buffer = pool.take(10_000)
        address = buffer.address
        buffer.streams.add(mine)
        del buffer
        other = pool.take(10_000)
        driver.finish()
        another = pool.take(10_000)
        assert address not in (other.address, another.address)
        driver.captured.clear()
        pool.collect()
        driver.finish()
        assert pool.take(10_000).address == address

    def test_a_consumer_that_names_no_stream_is_waited_for(self, driver, pool):
        fences = []

        class Moment:
            come = False

            def is_ready(self):
                return self.come

            def block_until_ready(self):
                self.come = True

        def fence():
            fences.append(Moment())
            return Fence(fences[-1])

        pool.fence = fence
        buffer = pool.take(10_000)
        buffer.streams.add(driver.stream())
        address = buffer.address
        del buffer
        own = pool.take(10_000)  # the stage's own, which nobody else has seen
        driver.finish()
        assert own.address != address and len(fences) == 1
        del own
        again = pool.take(10_000)
        assert again.address != address and len(fences) == 1
        fences[0].come = True
        assert pool.take(10_000).address == address
        again.streams.add(driver.stream())
        del again
        pool.close()
        assert [one.come for one in fences] == [True, True]

    def test_jax_is_waited_for(self, pool):
        jax = pytest.importorskip("jax")
        tools = SimpleNamespace(driver=None, pool=pool)
        assert isinstance(fenced_memory(jax, jax.devices()[0])(tools), PoolMemory)
        fence = pool.fence()
        fence.synchronize()
        assert fence.query()

    def test_idle_memory_goes_back_before_there_is_none(self, pool, driver):
        driver.left = 100_000
        first = pool.take(60_000)
        del first
        assert pool.take(50_000).size >= 50_000
        assert pool.held <= 100_000

    def test_a_steady_run_takes_no_more(self, pool, driver):
        mine = driver.stream()
        for step in range(200):
            buffers = [pool.take(size) for size in (1000, 50_000, 50_000 + step % 5)]
            for buffer in buffers:
                buffer.streams.add(mine)
                driver.put(mine, lambda: None)
            del buffer, buffers
            if step == 50:
                driver.finish()
            if step % 7 == 0:
                driver.finish()
        assert len([call for call in driver.log if call[0] == "alloc"]) < 40

    @pytest.mark.parametrize("size", [1, 4096, 4097, 10_000, 1 << 20, (1 << 20) + 1, 123_456_789])
    def test_sizes(self, size):
        assert size <= rounded(size) <= max(4096, size + size // 8 + 1)
        assert rounded(rounded(size)) == rounded(size)


def test_results_from_the_pool(driver, pool):
    address, array = PoolMemory(driver, pool).array((2, 5), "bf16", 0)
    assert array.address == address and array.shape == (2, 5) and array.dtype.itemsize == 2


def test_results_from_torch():
    torch = pytest.importorskip("torch")
    seen = []

    class Cuda:
        @staticmethod
        def ExternalStream(stream, device):
            return ("stream", stream, str(device))

        class stream:  # noqa: N801
            def __init__(self, stream):
                self.now = stream

            def __enter__(self):
                seen.append(self.now)

            def __exit__(self, *rest):
                seen.append(None)

    class Torch:
        cuda = Cuda

        def __getattr__(self, name):
            return getattr(torch, name)

        def empty(self, shape, dtype, device):
            seen.append((shape, dtype, str(device)))
            return torch.empty(shape, dtype=dtype)

    memory = TorchMemory(Torch(), "cuda:1")
    address, tensor = memory.array((2, 3), "bf16", 77)
    assert tensor.data_ptr() == address and tensor.dtype == torch.bfloat16
    assert seen == [("stream", 77, "cuda:1"), ((2, 3), torch.bfloat16, "cuda:1"), None]
