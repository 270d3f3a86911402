"""JAX: arrays that stay what they are while the ring goes on, trees, and shardings."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import HERE
from patience import PATIENCE

import millrace
from millrace.feed import run_of

jax = pytest.importorskip("jax")


def test_arrays_stay_what_they_are(fake):
    with millrace.Feed(fake(80), depth=4) as feed:
        kept = []
        for i, batch in enumerate(feed.jax()):
            assert isinstance(batch["image"], jax.Array)
            if i < 3:
                kept.append(batch["image"])
            del batch
        for i, image in enumerate(kept):
            assert np.asarray(image)[:, 0, 0, 0].tolist() == [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3]
        del kept, image
        gc.collect()  # JAX lets go of what it has used a little later
        run_of(feed).stream.client.leases.settle()
        assert len(run_of(feed).stream.client.leases) == 0


def test_a_batch_is_a_tree(fake):
    with millrace.Feed(fake()) as feed:
        batch = next(iter(feed.jax()))
        assert batch["half"].dtype == jax.numpy.bfloat16
        fields = {name: batch[name] for name in ("number", "image", "parts")}
        doubled = jax.jit(lambda tree: jax.tree_util.tree_map(lambda x: x * 2, tree))(millrace.Batch(fields))
        assert doubled["number"].tolist() == [0, 2, 4, 6]
        assert doubled["parts"].offsets.tolist() == [0, 2, 6, 12, 20]


def test_sharded_over_devices(runtime_folder):
    code = f"""
        import os, sys
        os.environ.update(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_force_host_platform_device_count=4")
        sys.path[:0] = [{str(HERE.parent)!r}]
        import jax, numpy as np, millrace, millrace._client.process, millrace._client.find_engine
        from jax.sharding import NamedSharding, PartitionSpec as P
        command = [sys.executable, {str(HERE / "fake_engine.py")!r}]
        millrace._client.process.engine_command = lambda: command
        millrace._client.find_engine.engine_command = lambda: command
        mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
        rows = NamedSharding(mesh, P("data", None, None, None))
        everywhere = NamedSharding(mesh, P())
        where = {{"image": rows, "number": rows}}
        with millrace.Feed({{"fake": {{"length": 80, "rows": 8}}}}) as feed:
            for i, batch in enumerate(feed.jax(device=where, tuple=("image", "number"))):
                image, number = batch
                assert len(image.sharding.device_set) == len(number.sharding.device_set) == 4
                assert image.addressable_shards[0].data.shape == (2, 3, 4, 4)
                assert number.tolist() == list(range(8 * i, 8 * i + 8))
                assert np.asarray(image)[:, 0, 0, 0].tolist() == number.tolist()
            assert i == 9
        print("sharded")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout == "sharded\n", done.stderr


def test_the_name_of_a_device_is_no_device(fake):
    with millrace.Feed(fake()) as feed:
        with pytest.raises(
            millrace.DefinitionError, match=r'give jax\.devices\("cuda"\)\[0\], a sharding, or'
        ):
            feed.jax(device="cuda")
