"""Makes the tar files in this folder: python3 test/golden/tar/make.py (needs webdataset).

Besides each archive NAME.tar there is NAME.json: its samples as webdataset's own reader gives them, a list of
{"__key__": ..., column: latin-1 text}.
"""
import io
import json
import os
import tarfile

import webdataset
from webdataset.tariterators import group_by_keys, tar_file_expander, url_opener

HERE = os.path.dirname(os.path.abspath(__file__))
LONG = "folder/" * 30 + "sample"


def add(archive, name, data, **more):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(data))


def members(archive, long_names=True):
    add(archive, "__info__", b"not a sample")
    add(archive, "README", b"no extension")
    folder = tarfile.TarInfo("a")
    folder.type = tarfile.DIRTYPE
    archive.addfile(folder)
    add(archive, "a/one.cls", b"1")
    add(archive, "a/one.JPG", bytes(range(256)) * 5)
    add(archive, "a/one.seg.png", b"\x89PNG" + b"s" * 900)
    link = tarfile.TarInfo("a/two.jpg")
    link.type, link.linkname = tarfile.SYMTYPE, "one.JPG"
    archive.addfile(link)
    add(archive, "a/two.txt", "zwei é\n".encode())
    add(archive, "v1.0/three.json", b'{"x": 3}')
    add(archive, "v1.0/three.cls", b"3")
    add(archive, "./four.cls", b"4")
    add(archive, "empty.bin", b"")
    add(archive, "d/.hidden.txt", b"hidden")
    if long_names:
        add(archive, LONG + ".cls", b"5")
        add(archive, LONG + ".jpg", b"j" * 700)
        add(archive, "ü" * 60 + ".txt", b"umlauts")


def make(name, format, **more):
    with tarfile.open(os.path.join(HERE, name), "w", format=format, **more) as archive:
        members(archive, long_names=format != tarfile.USTAR_FORMAT)
        if format == tarfile.USTAR_FORMAT:
            # 100 bytes do not hold it, the prefix does.
            add(archive, "p" * 60 + "/" + "q" * 80 + ".txt", b"prefix")


def base256():
    """tarfile writes base 256 only for sizes beyond 8 GiB: rewrite a small size by hand."""
    block = bytearray(tarfile.TarInfo("b.cls").tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\x80" + (3).to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    with open(os.path.join(HERE, "base256.tar"), "wb") as out:
        out.write(block + b"256".ljust(512, b"\0") + b"\0" * 1024)


def written_by_webdataset():
    with webdataset.TarWriter(os.path.join(HERE, "webdataset.tar")) as writer:
        for i in range(4):
            sample = {"__key__": f"sample{i:03d}", "cls": i, "txt": f"text {i}", "json": {"i": i}}
            sample["bin"] = bytes([i]) * (i * 300)
            writer.write(sample)


def reference(name):
    urls = [{"url": os.path.join(HERE, name)}]
    samples = []
    for sample in group_by_keys(tar_file_expander(url_opener(urls))):
        out = {"__key__": sample["__key__"]}
        for key, value in sample.items():
            if not key.startswith("__"):
                out[key] = value.decode("latin-1")
        samples.append(out)
    with open(os.path.join(HERE, name.replace(".tar", ".json")), "w") as out:
        json.dump(samples, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    make("pax.tar", tarfile.PAX_FORMAT, pax_headers={"comment": "a global header"})
    make("gnu.tar", tarfile.GNU_FORMAT)
    make("ustar.tar", tarfile.USTAR_FORMAT)
    base256()
    written_by_webdataset()
    for name in sorted(os.listdir(HERE)):
        if name.endswith(".tar"):
            reference(name)
