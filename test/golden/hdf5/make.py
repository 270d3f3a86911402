"""Writes the HDF5 and netCDF-4 files of this folder, and what is in them as index.json.

Made with h5py 3.16.0 (HDF5 2.0.0), hdf5plugin 7.1.0, netCDF4 1.7.5, numpy 2.4.6, pandas 3.1.1, PyTables 3.11.1.

    python make.py

Of each dataset there are type, shape and a hash of all elements (C order, little-endian), and the address,
size and mask of every chunk as the library has them; of each file, what is refused, and a word of the reason.
"""

import ctypes
import hashlib
import json
import pathlib
import shutil

import h5py
import hdf5plugin
import numpy as np

HERE = pathlib.Path(__file__).parent
INDEX = {"versions": {"h5py": h5py.version.version, "hdf5": h5py.version.hdf5_version}, "files": {}}
random = np.random.default_rng(7)

VERSIONS = {"earliest": "earliest", "v108": "v108", "v110": "v110", "v200": "latest"}


def chunks_of(dataset):
    if dataset.chunks is None:
        return None
    found = []
    dataset.id.chunk_iter(lambda c: found.append([*c.chunk_offset, c.byte_offset, c.size, c.filter_mask]))
    if any(at >= n for chunk in found for at, n in zip(chunk, dataset.shape)):
        return (
            None  # HDF5 2.0.0 lists wrong places where an axis behind the first one grows; values are right
        )
    return sorted(found)


def expect(name, dataset, values, column=None):
    """All rows of a dataset are `values`."""
    column = column or dataset.name.strip("/")
    values = np.ascontiguousarray(values)
    little = values.astype(values.dtype.newbyteorder("<"))
    entry = INDEX["files"].setdefault(name, {"datasets": {}})
    entry["datasets"][column] = {
        "path": dataset.name,
        "dtype": values.dtype.name,
        "shape": values.shape,
        "sha256": hashlib.sha256(little.tobytes()).hexdigest()[:32],
        "chunks": chunks_of(dataset),
        "offset": dataset.id.get_offset() if dataset.chunks is None else None,
    }


def texts(name, dataset, values, column=None):
    column = column or dataset.name.strip("/")
    entry = INDEX["files"].setdefault(name, {"datasets": {}})
    entry["datasets"][column] = {"path": dataset.name, "texts": values, "chunks": None}


def library():
    """The HDF5 library that h5py uses: for functions that h5py does not have."""
    (path,) = (pathlib.Path(h5py.__file__).parent.parent / "h5py.libs").glob("libhdf5-*")
    return ctypes.CDLL(str(path))


def refused(name, path, word):
    INDEX["files"].setdefault(name, {"datasets": {}}).setdefault("refused", {})[path] = word


def layouts(version):
    """Every layout and index of chunks that this version of the format has."""
    name = f"layouts-{version}.h5"
    low = VERSIONS[version]
    with h5py.File(
        HERE / name, "w", libver=(low, low) if low not in ("earliest",) else ("earliest", "v108")
    ) as f:
        n = 23
        x = random.integers(0, 1000, (n, 5, 7)).astype("<i4")
        datasets = {
            "contiguous": f.create_dataset("contiguous", data=x),
            "chunked": f.create_dataset("chunked", data=x, chunks=(4, 5, 7)),
            "odd": f.create_dataset("odd", data=x, chunks=(3, 2, 4), compression="gzip"),
            "one": f.create_dataset("one", data=x, chunks=(n, 5, 7), compression="gzip"),
            "single": f.create_dataset("single", data=x, chunks=(n, 5, 7)),
            "growing": f.create_dataset("growing", data=x, chunks=(2, 5, 7), maxshape=(None, 5, 7)),
            "growing_packed": f.create_dataset(
                "growing_packed",
                data=x,
                chunks=(2, 3, 7),
                maxshape=(None, 5, 7),
                compression="gzip",
                shuffle=True,
            ),
            "growing_across": f.create_dataset(
                "growing_across", data=x, chunks=(2, 3, 2), maxshape=(n, 5, None)
            ),
            "all_grow": f.create_dataset("all_grow", data=x, chunks=(5, 3, 3), maxshape=(None, None, None)),
            "all_grow_packed": f.create_dataset(
                "all_grow_packed", data=x, chunks=(5, 3, 3), maxshape=(None, None, 9), compression="gzip"
            ),
            "limited": f.create_dataset("limited", data=x, chunks=(2, 3, 3), maxshape=(40, 5, 20)),
        }
        for dataset in datasets.values():
            assert dataset.shape == x.shape
        f.flush()
        early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        early.set_chunk((4, 5, 7))
        early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        space = h5py.h5s.create_simple((n, 5, 7), (n, 5, 7))
        implicit = h5py.Dataset(h5py.h5d.create(f.id, b"implicit", h5py.h5t.STD_I32LE, space, early))
        implicit[...] = x
        datasets["implicit"] = implicit
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        small = np.arange(n, dtype="<i8") * 3 - 11
        space = h5py.h5s.create_simple((n,))
        inside = h5py.Dataset(h5py.h5d.create(f.id, b"compact", h5py.h5t.STD_I64LE, space, compact))
        inside[...] = small
        # Chunks that were never written, and values that were never written at all.
        sparse = f.create_dataset("sparse", (n, 6), "<f4", chunks=(4, 3), fillvalue=1.5)
        sparse[5:9, 2:4] = 7
        never = f.create_dataset("never", (n, 3), "<u2", fillvalue=258)
        sparse_packed = f.create_dataset(
            "sparse_packed", (n,), "<i2", chunks=(4,), fillvalue=-3, compression="gzip"
        )
        sparse_packed[20:] = 5
        shrunk = f.create_dataset("shrunk", data=np.zeros((40, 2), "<i2"), chunks=(7, 2), maxshape=(None, 2))
        shrunk.resize((n, 2))
        shrunk[...] = np.arange(2 * n).reshape(n, 2)
        for label, dataset in datasets.items():
            expect(name, dataset, x, label)
        expect(name, inside, small)
        for dataset in (sparse, never, sparse_packed, shrunk):
            expect(name, dataset, dataset[...])
    INDEX["files"][name]["rows"] = n


def types():
    name = "types.h5"
    with h5py.File(HERE / name, "w") as f:
        n = 6
        for kind in "<i1 <u1 <i2 >i2 <u2 >u2 <i4 >i4 <u4 >u4 <i8 >i8 <u8 >u8 <f2 >f2 <f4 >f4 <f8 >f8".split():
            values = (random.random((n, 2, 3)) * 200 - (0 if "u" in kind else 100)).astype(kind)
            label = kind.replace("<", "le_").replace(">", "be_")
            expect(name, f.create_dataset(f"array/{label}", data=values), values)
            expect(
                name,
                f.create_dataset(f"packed/{label}", data=values, chunks=(4, 2, 2), compression="gzip"),
                values,
            )
            expect(name, f.create_dataset(f"scalar/{label}", data=values[:, 0, 0]), values[:, 0, 0])
        expect(name, f.create_dataset("bool", data=np.arange(n) % 2 == 0), np.arange(n) % 2 == 0)
        enum = h5py.enum_dtype({"red": 1, "green": 300, "blue": -5}, basetype="<i2")
        expect(
            name,
            f.create_dataset("enum", data=np.array([1, 300, -5, 1, 300, -5], "<i2"), dtype=enum),
            np.array([1, 300, -5, 1, 300, -5], "<i2"),
        )
        inner = np.dtype(("<f4", (2, 2)))
        inside = f.create_dataset("array_type", (n,), inner)
        inside[...] = np.arange(n * 4, dtype="<f4").reshape(n, 2, 2)
        expect(name, inside, np.arange(n * 4, dtype="<f4").reshape(n, 2, 2))
        words = ["", "a", "grün", "日本語", "x" * 9, "end"]
        texts(name, f.create_dataset("fixed", data=np.array([w.encode() for w in words], "S12")), words)
        padded = h5py.h5t.C_S1.copy()
        padded.set_size(12)
        padded.set_strpad(h5py.h5t.STR_SPACEPAD)
        space = h5py.h5s.create_simple((n,))
        blanks = h5py.Dataset(h5py.h5d.create(f.id, b"blanks", padded, space))
        blanks.id.write(
            h5py.h5s.ALL, h5py.h5s.ALL, np.array([w.encode().ljust(12) for w in words], "S12"), padded
        )
        texts(name, blanks, words)
        texts(name, f.create_dataset("varying", data=words, dtype=h5py.string_dtype()), words)
        texts(
            name,
            f.create_dataset(
                "varying_packed", data=words, dtype=h5py.string_dtype(), chunks=(4,), compression="gzip"
            ),
            words,
        )
        texts(name, f.create_dataset("never_text", (n,), dtype=h5py.string_dtype(), chunks=(4,)), [""] * n)
        lists = f.create_dataset("lists", (n,), dtype=h5py.vlen_dtype("<i4"))
        pictures = f.create_dataset("pictures", (n,), dtype=h5py.vlen_dtype("u1"))
        expected_lists = [list(range(i * i)) for i in range(n)]
        for i in range(n):
            lists[i] = np.array(expected_lists[i], "<i4")
            pictures[i] = np.frombuffer(b"picture %d" % i + bytes(2000 * i), "u1")
        INDEX["files"][name]["lists"] = {"lists": expected_lists}
        compound = np.zeros(
            n, [("a", "<f4"), ("b", ">i2", (2, 3)), ("name", "S5"), ("in", [("deep", "<u8"), ("flag", "?")])]
        )
        compound["a"] = np.arange(n) / 3
        compound["b"] = np.arange(n * 6).reshape(n, 2, 3)
        compound["name"] = [b"n%d" % i for i in range(n)]
        compound["in"]["deep"] = 2**60 + np.arange(n)
        compound["in"]["flag"] = np.arange(n) % 3 == 0
        table = f.create_dataset("table", data=compound, chunks=(4,), compression="gzip")
        for member in ("a", "b"):
            expect(name, table, compound[member], f"table.{member}")
        expect(name, table, compound["in"]["deep"], "table.in.deep")
        expect(name, table, compound["in"]["flag"], "table.in.flag")
        texts(name, table, [f"n{i}" for i in range(n)], "table.name")
        wide = np.zeros((n, 3), [("r", "<f4"), ("i", "<f4")])
        wide["r"] = np.arange(3 * n).reshape(n, 3)
        wide["i"] = -np.arange(3 * n).reshape(n, 3)
        plane = f.create_dataset("complex", data=wide)
        expect(name, plane, wide["r"], "complex.r")
        expect(name, plane, wide["i"], "complex.i")
        f["named_type"] = np.dtype("<f4")
        expect(
            name,
            f.create_dataset("by_named_type", data=np.arange(n, dtype="<f4"), dtype=f["named_type"]),
            np.arange(n, dtype="<f4"),
        )
        opaque = np.array([bytes([i] * 5) for i in range(n)], "V5")
        f.create_dataset("opaque", data=opaque)
        INDEX["files"][name]["opaque"] = 5
        f.create_dataset("reference", data=np.array([f.ref] * n, dtype=h5py.ref_dtype))
        refused(name, "reference", "references")
        f.create_dataset("long_double", data=np.arange(n).astype(np.longdouble))
        refused(name, "long_double", "floats")
        f.create_dataset("many_texts", data=np.array([[b"a", b"b"]] * n))
        refused(name, "many_texts", "texts in a sample")
    INDEX["files"][name]["rows"] = n


def filters():
    name = "filters.h5"
    with h5py.File(HERE / name, "w") as f:
        n = 20
        smooth = (np.arange(n * 33).reshape(n, 33) // 5).astype("<i4")
        options = {
            "gzip": dict(compression="gzip", compression_opts=9),
            "gzip_shuffle": dict(compression="gzip", shuffle=True),
            "gzip_shuffle_fletcher": dict(compression="gzip", shuffle=True, fletcher32=True),
            "fletcher": dict(fletcher32=True),
            "shuffle": dict(shuffle=True),
            "lzf": dict(compression="lzf"),
            "lzf_shuffle": dict(compression="lzf", shuffle=True),
            "lz4": hdf5plugin.LZ4(),
            "lz4_blocks": hdf5plugin.LZ4(nbytes=256),
            "zstd": hdf5plugin.Zstd(),
            "bitshuffle": hdf5plugin.Bitshuffle(cname="none"),
            "bitshuffle_lz4": hdf5plugin.Bitshuffle(cname="lz4"),
            "bitshuffle_zstd": hdf5plugin.Bitshuffle(cname="zstd"),
            "bitshuffle_blocks": hdf5plugin.Bitshuffle(nelems=64, cname="lz4"),
            **{
                f"blosc_{c}": hdf5plugin.Blosc(cname=c, shuffle=s)
                for c, s in [("blosclz", 1), ("lz4", 2), ("lz4hc", 0), ("zlib", 1), ("zstd", 1)]
            },
        }
        for label, option in options.items():
            for chunk in ((7, 33), (16, 10), (1, 33)):
                path = f"{label}/{chunk[0]}x{chunk[1]}"
                expect(name, f.create_dataset(path, data=smooth, chunks=chunk, **dict(option)), smooth)
        noise = random.bytes(n * 64)
        values = np.frombuffer(noise, "<u8").reshape(n, 8)
        for label in ("lz4", "lzf", "bitshuffle_lz4"):
            expect(
                name,
                f.create_dataset(f"noise/{label}", data=values, chunks=(9, 8), **dict(options[label])),
                values,
            )
        f.create_dataset("nbit", (n,), "<i4", chunks=(10,), scaleoffset=0)[...] = np.arange(n)
        refused(name, "nbit", "scaleoffset")
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_chunk((10,))
        create.set_szip(32, 8)
        h5py.Dataset(h5py.h5d.create(f.id, b"szip", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((n,)), create))
        refused(name, "szip", "szip")
        f.create_dataset("blosc2", data=smooth, chunks=(7, 33), **hdf5plugin.Blosc2())
        refused(name, "blosc2", "blosc2")
    INDEX["files"][name]["rows"] = n
    with h5py.File(HERE / "masked.h5", "w") as f:
        n = 50
        # Chunks whose filters were left out, one by one, as the writer may do.
        masked = f.create_dataset("masked", (n,), "<i4", chunks=(10,), compression="gzip", shuffle=True)
        masked[...] = np.arange(n)
        masked.id.write_direct_chunk((10,), np.arange(100, 110, dtype="<i4").tobytes(), filter_mask=3)
        shuffled = np.arange(200, 210, dtype="<i4").view("u1").reshape(10, 4).T.tobytes()
        masked.id.write_direct_chunk((30,), shuffled, filter_mask=2)
        expect("masked.h5", masked, masked[...])
    INDEX["files"]["masked.h5"]["rows"] = n
    with h5py.File(HERE / "edges.h5", "w", libver="latest") as f:
        # Chunks at an edge that are not filtered.
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_chunk((4, 4))
        create.set_deflate(5)
        # h5py has no function for it: H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS
        assert library().H5Pset_chunk_opts(ctypes.c_int64(create.id), 2) >= 0
        values = np.arange(77).reshape(11, 7).astype("<i4")
        dataset = h5py.Dataset(
            h5py.h5d.create(f.id, b"x", h5py.h5t.STD_I32LE, h5py.h5s.create_simple(values.shape), create)
        )
        dataset[...] = values
        expect("edges.h5", dataset, values)
    INDEX["files"]["edges.h5"]["rows"] = 11


def groups():
    for version in ("earliest", "latest"):
        name = f"groups-{version}.h5"
        with h5py.File(HERE / name, "w", libver=version) as f:
            for i in range(12):
                group = f.create_group(f"data/demo_{i}")
                steps = i % 4 + 1
                group["action"] = np.arange(steps * 2, dtype="<f4").reshape(steps, 2) + i
                group.create_dataset(
                    "obs/img", data=np.full((steps, 3, 4), i, "u1"), chunks=(1, 3, 4), compression="gzip"
                )
                group["name"] = f"demo number {i}"
                group["score"] = i / 2
                if i % 5 == 0:
                    group["extra"] = np.int32(i)
            many = f.create_group("many")
            for i in range(300):
                many[f"link {i:03d}"] = h5py.SoftLink(f"/data/demo_{i % 12}/action")
            f["soft"] = h5py.SoftLink("/data/demo_3/action")
            f["soft_group"] = h5py.SoftLink("data/demo_4")
            f["data/demo_0/up"] = h5py.SoftLink("/data")
            f["dangling"] = h5py.SoftLink("/nowhere")
            f["hard"] = f["data/demo_5"]
            f["data/demo_6/loop"] = f["data"]
            f["outside"] = h5py.ExternalLink("other.h5", "/x")
        INDEX["files"][name] = {"datasets": {}, "groups": True}


def others():
    with h5py.File(HERE / "user-block.h5", "w", userblock_size=1024) as f:
        expect("user-block.h5", f.create_dataset("x", data=np.arange(10)), np.arange(10))
        expect(
            "user-block.h5",
            f.create_dataset("y", data=np.arange(10), chunks=(3,), compression="gzip"),
            np.arange(10),
        )
        texts("user-block.h5", f.create_dataset("t", data=["a", "bc"] * 5), ["a", "bc"] * 5)
    INDEX["files"]["user-block.h5"]["rows"] = 10
    with h5py.File(HERE / "small-offsets.h5", "w", fs_strategy=None) as f:
        expect("small-offsets.h5", f.create_dataset("x", data=np.arange(4)), np.arange(4))
    INDEX["files"]["small-offsets.h5"]["rows"] = 4
    for label, rows in (("empty", 0), ("row", 1)):
        with h5py.File(HERE / f"{label}.h5", "w") as f:
            values = np.arange(rows * 3, dtype="<i4").reshape(rows, 3)
            expect(
                f"{label}.h5", f.create_dataset("x", data=values, maxshape=(None, 3), chunks=(4, 3)), values
            )
        INDEX["files"][f"{label}.h5"]["rows"] = rows
    with h5py.File(HERE / "refused.h5", "w", libver="latest") as f:
        layout = h5py.VirtualLayout((4,), "<i4")
        layout[:] = h5py.VirtualSource("row.h5", "x", shape=(4,))
        f.create_virtual_dataset("virtual", layout)
        f.create_dataset("external", (4,), "<i4", external=[("raw.bin", 0, h5py.h5f.UNLIMITED)])
        f["outside"] = h5py.ExternalLink("other.h5", "/x")
        f["x"] = np.arange(4)
    for path, word in (("virtual", "virtual"), ("external", "external"), ("outside", "another file")):
        refused("refused.h5", path, word)
    swmr = h5py.File(HERE / "swmr.h5", "w", libver="latest")
    swmr["x"] = np.arange(4)
    swmr.swmr_mode = True
    swmr.flush()
    shutil.copy(HERE / "swmr.h5", HERE / "unclosed.h5")
    swmr.close()
    (HERE / "swmr.h5").unlink()


def netcdf():
    import netCDF4

    with netCDF4.Dataset(HERE / "weather.nc", "w", format="NETCDF4") as f:
        for label, n in (("time", None), ("lat", 3), ("lon", 5)):
            f.createDimension(label, n)
        f.createVariable("time", "f8", ("time",))[:] = np.arange(8) * 6.0
        f.createVariable("lat", "f4", ("lat",))[:] = [10, 20, 30]
        t = f.createVariable(
            "t2m",
            "i2",
            ("time", "lat", "lon"),
            zlib=True,
            shuffle=True,
            fill_value=-32767,
            chunksizes=(3, 2, 5),
        )
        t.set_auto_maskandscale(False)
        t.scale_factor = 0.01
        t.add_offset = 273.15
        t[:] = np.arange(8 * 15).reshape(8, 3, 5)
        u = f.createVariable("wind", "f4", ("time", "lat", "lon"))
        u[:] = np.arange(8 * 15).reshape(8, 3, 5) / 7
    with h5py.File(HERE / "weather.nc") as f:
        expect("weather.nc", f["t2m"], f["t2m"][...])
        expect("weather.nc", f["wind"], f["wind"][...])
    INDEX["files"]["weather.nc"]["rows"] = 8


def letters():
    """Texts of netCDF's type char, one letter an element; and one text in each array of 1."""
    import netCDF4

    name = "stations.nc"
    words = ["Kiel", "Wien 1", "", "Bern"]
    with netCDF4.Dataset(HERE / name, "w", format="NETCDF4_CLASSIC") as f:
        f.createDimension("station", 4)
        f.createDimension("letters", 6)
        for label, options in (("name", {}), ("packed", {"zlib": True, "chunksizes": (3, 6)})):
            f.createVariable(label, "S1", ("station", "letters"), **options)[:] = netCDF4.stringtochar(np.array(words, "S6"))
    with h5py.File(HERE / name) as f:
        texts(name, f["name"], words)
        texts(name, f["packed"], words)
    INDEX["files"][name]["rows"] = 4


def mixed():
    """A compound with a member that can't be read."""
    with h5py.File(HERE / "mixed.h5", "w") as f:
        people = f.create_dataset("people", (3,), [("id", "<i4"), ("name", h5py.string_dtype())])
        people[...] = [(i, f"name {i}") for i in range(3)]


def filled_texts():
    """Texts of varying length that were never written have a fill value as well."""
    name = "filled-texts.h5"
    with h5py.File(HERE / name, "w") as f:
        chunked = f.create_dataset("chunked", (9,), h5py.string_dtype(), chunks=(2,), fillvalue="füll")
        chunked[4] = "four"
        never = f.create_dataset("never", (9,), h5py.string_dtype(), fillvalue="none")
        for dataset in (chunked, never):
            texts(name, dataset, [text.decode() for text in dataset[...]])
    INDEX["files"][name]["rows"] = 9


def shared_messages():
    """Types, shapes, fill values, filters and attributes that datasets have in common lie in heaps of their own."""
    name = "shared-messages.h5"
    create = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    number = ctypes.c_int64(create.id)
    everything, shapes = 0x1E, 0x01
    assert library().H5Pset_shared_mesg_nindexes(number, 2) >= 0
    assert library().H5Pset_shared_mesg_index(number, 0, shapes, ctypes.c_uint(1)) >= 0
    assert library().H5Pset_shared_mesg_index(number, 1, everything, ctypes.c_uint(1)) >= 0
    n = 20
    values = random.integers(0, 99, (n, 3)).astype(">i4")
    table = np.zeros(n, [("a", "<i4"), ("b", ">f8", (2,))])
    table["a"] = np.arange(n)
    with h5py.File(h5py.h5f.create(bytes(HERE / name), h5py.h5f.ACC_TRUNC, fcpl=create)) as f:
        for label in "xyz":
            dataset = f.create_dataset(label, (n, 3), ">i4", chunks=(4, 3), compression="gzip", fillvalue=7)
            dataset.attrs["scale_factor"] = 0.5
            dataset[:9] = values[:9]
            expect(name, dataset, dataset[...])
            expect(name, f.create_dataset(f"t{label}", data=table), table["a"], f"t{label}.a")
    INDEX["files"][name]["rows"] = n


def pages():
    """Indexes of so many chunks that they are cut into pages, of which most were never written."""
    with h5py.File(HERE / "pages.h5", "w", libver="latest") as f:
        fixed = f.create_dataset("fixed", (3000,), "<i2", chunks=(1,), fillvalue=-1)
        growing = f.create_dataset("growing", (140000,), "<i2", chunks=(1,), fillvalue=-1, maxshape=(None,))
        fixed[2500] = growing[139000] = 7
        fixed[17] = growing[17] = 3


def pandas_table():
    """A table of pandas, with the index that PyTables keeps beside it."""
    import pandas

    name = "pandas.h5"
    n = 20
    frame = pandas.DataFrame({"a": np.arange(n) / 3, "b": np.arange(n), "s": [f"text {i}" for i in range(n)]})
    frame.to_hdf(HERE / name, key="df", format="table", complib="zlib", complevel=9, mode="w")
    with h5py.File(HERE / name) as f:
        table = f["df/table"]
        for member in ("index", "values_block_0", "values_block_1"):
            expect(name, table, table[member], f"df/table.{member}")
        texts(name, table, [f"text {i}" for i in range(n)], "df/table.values_block_2")
    INDEX["files"][name]["rows"] = n


for old in [*HERE.glob("*.h5"), *HERE.glob("*.nc")]:
    old.unlink()
for version in VERSIONS:
    layouts(version)
types()
filters()
groups()
others()
netcdf()
pandas_table()
shared_messages()
pages()
letters()
mixed()
filled_texts()
(HERE / "index.json").write_text(json.dumps(INDEX, separators=(",", ":"), ensure_ascii=False) + "\n")
