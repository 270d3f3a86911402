"""Makes the small pictures that decoding is tested with, and what PIL makes of them.

    python3 test/golden/images/make.py        (needs pillow and numpy)

Beside a picture FILE lie FILE.npy, its image: uint8 [height, width, 3], EXIF orientation applied, converted to RGB;
FILE.stored.npy, the same as torchvision's loader has it: without ImageOps.exif_transpose; and FILE.mask.npy, where it serves
as a mask: uint8 [height, width], `numpy.array(Image.open(FILE))`. index.json lists them. luma.bin has the images again,
converted to L: uint8 [height, width] of each, in the order of index.json.
"""

import json
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps, features

HERE = pathlib.Path(__file__).parent
index = []
lumas = []


def photo(width, height, seed=0):
    """Smooth colours with detail at every scale, and one hard edge."""
    random = np.random.default_rng(seed)
    total = np.zeros((height, width, 3))
    for octave in range(1, 6):
        n = 2**octave + 1
        layer = Image.fromarray((random.random((n, n, 3)) * 255).astype(np.uint8))
        total += np.asarray(layer.resize((width, height), Image.Resampling.BICUBIC)) / octave
    total = (total - total.min()) / max(total.max() - total.min(), 1) * 255
    total[: height // 3, : width // 4] = (250, 20, 60)
    return Image.fromarray(total.astype(np.uint8))


def image(name, expected=None, tolerance=0):
    """Registers an image; what is expected is PIL's RGB unless given."""
    if expected is None:
        with Image.open(HERE / name) as opened:
            upright = ImageOps.exif_transpose(opened)
            expected = np.asarray(upright.convert("RGB"))
            lumas.append(upright.convert("L").tobytes())
    else:
        lumas.append(Image.fromarray(expected).convert("L").tobytes())
    np.save(HERE / f"{name}.npy", np.ascontiguousarray(expected))
    index.append({"file": name, "as": "image", "tolerance": tolerance})


def stored(name, tolerance=0):
    """Registers an image as torchvision's ImageFolder reads it."""
    with Image.open(HERE / name) as opened:
        np.save(HERE / f"{name}.stored.npy", np.asarray(opened.convert("RGB")))
    index.append({"file": name, "as": "stored", "tolerance": tolerance})


def mask(name, expected=None):
    if expected is None:
        expected = np.array(Image.open(HERE / name)).astype(np.uint8)
    np.save(HERE / f"{name}.mask.npy", expected)
    index.append({"file": name, "as": "mask", "tolerance": 0})


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def interlaced(pixels, depth, colour, palette=None):
    """An Adam7 PNG by hand: PIL can't write one. `pixels` is [h, w] or [h, w, c] of values below 2**depth."""
    height, width = pixels.shape[:2]
    rows = bytearray()
    for x, y, dx, dy in [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]:
        part = pixels[y::dy, x::dx]
        if part.size == 0:
            continue
        for row in part:
            bits = np.unpackbits(row.reshape(-1, 1).astype(np.uint8), axis=1)[:, 8 - depth :]
            rows += b"\0" + np.packbits(bits).tobytes()
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 1)
    body = chunk(b"IHDR", head) + (chunk(b"PLTE", palette) if palette else b"")
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IDAT", zlib.compress(bytes(rows))) + chunk(b"IEND", b"")


def gif_codes(indices, bits):
    """LZW without any string: a clear code before the codes grow longer."""
    clear, size, value, used = 1 << bits, bits + 1, 0, 0
    codes = []
    for i, pixel in enumerate(indices.reshape(-1)):
        codes += [clear, int(pixel)] if i % (clear - 2) == 0 else [int(pixel)]
    for code in [*codes, clear + 1]:
        value |= code << used
        used += size
    packed = value.to_bytes((used + 7) // 8, "little")
    blocks = [packed[i : i + 255] for i in range(0, len(packed), 255)]
    return bytes([bits]) + b"".join(bytes([len(block)]) + block for block in blocks) + b"\0"


def gif(size, box, pixels, everywhere=b"", own=b"", transparent=None, background=0, bits=4):
    """A GIF of one frame at `box` by hand: PIL writes none that is smaller than its canvas."""

    def flags(palette):
        return 0x80 | (len(palette) // 3).bit_length() - 2 if palette else 0

    head = b"GIF89a" + struct.pack("<HHBBB", *size, flags(everywhere), background, 0) + everywhere
    control = b"" if transparent is None else bytes([0x21, 0xF9, 4, 1, 0, 0, transparent, 0])
    frame = b"," + struct.pack("<HHHHB", *box, flags(own)) + own
    return head + control + frame + gif_codes(pixels, bits) + b";"


def tiff(pixels, photometric, tags={}, big=False):
    """A TIFF of one strip by hand. `tags` are {number: (type, values)}, types 3 (u16), 4 (u32) and 5 (fractions)."""
    order = ">" if big else "<"
    height, width, samples = pixels.shape
    strip = pixels.astype(pixels.dtype.newbyteorder(order)).tobytes()
    strip = zlib.compress(strip) if tags.get(259) == (3, [8]) else strip
    entries = {256: (4, [width]), 257: (4, [height]), 258: (3, [8 * pixels.itemsize] * samples), 259: (3, [1])}
    entries |= {262: (3, [photometric]), 273: (4, [8]), 277: (3, [samples]), 278: (4, [height]), 279: (4, [len(strip)])}
    entries |= tags
    strip += b"\0" * (len(strip) % 2)
    behind = 8 + len(strip) + 2 + 12 * len(entries) + 4
    directory, far = struct.pack(order + "H", len(entries)), b""
    for tag, (kind, values) in sorted(entries.items()):
        flat = [part for value in values for part in value] if kind == 5 else values
        data = struct.pack(f"{order}{len(flat)}{'H' if kind == 3 else 'I'}", *flat)
        directory += struct.pack(order + "HHI", tag, kind, len(values))
        directory += data.ljust(4, b"\0") if len(data) <= 4 else struct.pack(order + "I", behind + len(far))
        far += data if len(data) > 4 else b""
    magic = b"MM\0*" if big else b"II*\0"
    return magic + struct.pack(order + "I", 8 + len(strip)) + strip + directory + bytes(4) + far


def bmp(size, bits, rows, compression=0, palette=b"", masks=(), header=40, top_down=False, colours=0, offset=None):
    """A BMP by hand: PIL writes few kinds. `rows` are the bytes of the pixels as they are stored."""
    width, height = size
    at = 14 + header + (4 * len(masks) if header == 40 else 0) + len(palette)
    if header == 12:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        info = struct.pack("<IiiHHI", header, width, -height if top_down else height, 1, bits, compression)
        info += struct.pack("<IiiII", len(rows), 2835, 2835, colours, 0)
        info += struct.pack(f"<{len(masks)}I", *masks)
        info = info.ljust(header, b"\0")
    return b"BM" + struct.pack("<IHHI", at + len(rows), 0, 0, at if offset is None else offset) + info + palette + rows


def bmp_rows(pixels, bits):
    """Rows of whole numbers below 2**bits, bottom row first, each filled up to four bytes."""
    rows = b""
    for row in pixels[::-1]:
        packed = np.packbits(np.unpackbits(row.astype(np.uint8)[:, None], axis=1)[:, 8 - bits :]).tobytes()
        if bits > 8:
            packed = row.astype("<u4").view(np.uint8).reshape(-1, 4)[:, : bits // 8].tobytes()
        rows += packed + b"\0" * (-len(packed) % 4)
    return rows


# JPEG: subsamplings, modes, sizes
for name, subsampling in [("444", "4:4:4"), ("422", "4:2:2"), ("420", "4:2:0")]:
    photo(61, 47).save(HERE / f"{name}.jpg", quality=88, subsampling=subsampling)
    image(f"{name}.jpg")
# PIL can't write 4:4:0 and 4:1:1. At this size they have as many blocks as 4:2:2 and 4:2:0, so that another sampling
# factor in the frame header makes a valid (if scrambled) picture.
for name, source, factors in [("440", "422", 0x12), ("411", "420", 0x41)]:
    raw = bytearray((HERE / f"{source}.jpg").read_bytes())
    frame = raw.index(b"\xff\xc0")
    raw[frame + 11] = factors
    (HERE / f"{name}.jpg").write_bytes(raw)
    image(f"{name}.jpg")
photo(61, 47).save(HERE / "progressive.jpg", quality=88, progressive=True)
image("progressive.jpg")
photo(61, 47).save(HERE / "restart.jpg", quality=88, restart_marker_blocks=2)
image("restart.jpg")
photo(61, 47).convert("L").save(HERE / "gray.jpg", quality=88)
image("gray.jpg")
photo(61, 47).convert("CMYK").save(HERE / "cmyk.jpg", quality=92)
image("cmyk.jpg")
for width, height in [(1, 1), (7, 5), (17, 33), (16, 16), (64, 9)]:
    photo(width, height, 3).save(HERE / f"size-{width}x{height}.jpg", quality=90)
    image(f"size-{width}x{height}.jpg")
for orientation in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = orientation
    photo(45, 29, 5).save(HERE / f"exif-{orientation}.jpg", quality=90, exif=exif)
    image(f"exif-{orientation}.jpg")
    stored(f"exif-{orientation}.jpg")

# YCCK: PIL writes four components without transforming them; with the Adobe marker's transform set to 2 a reader
# takes the same numbers as YCCK.
raw = bytearray((HERE / "cmyk.jpg").read_bytes())
adobe = raw.index(b"Adobe")
raw[adobe + 11] = 2
(HERE / "ycck.jpg").write_bytes(raw)
image("ycck.jpg")

# stray bytes before a marker: libjpeg warns, everybody accepts
raw = (HERE / "420.jpg").read_bytes()
(HERE / "stray.jpg").write_bytes(raw[:-2] + b"\0\0\0" + raw[-2:] + b"\0" * 40)
image("stray.jpg")

# PNG
picture = photo(37, 23, 7)
picture.save(HERE / "rgb.png")
image("rgb.png")
picture.convert("L").save(HERE / "gray.png")
image("gray.png")
mask("gray.png")
picture.quantize(13).save(HERE / "palette.png")
image("palette.png")
mask("palette.png")
for colours in (2, 4, 16):
    picture.quantize(colours).save(HERE / f"palette-{colours}.png", bits=colours.bit_length() - 1)
    mask(f"palette-{colours}.png")
picture.convert("1").save(HERE / "bilevel.png")
image("bilevel.png")
mask("bilevel.png")
alpha = picture.copy()
alpha.putalpha(photo(37, 23, 8).convert("L"))
alpha.save(HERE / "rgba.png")
image("rgba.png")
alpha.convert("LA").save(HERE / "gray-alpha.png")
image("gray-alpha.png")
mask("gray-alpha.png", np.asarray(alpha.convert("LA"))[..., 0])
deep = np.random.default_rng(9).integers(0, 65536, (23, 37), dtype=np.uint16)
Image.fromarray(deep).save(HERE / "gray-16.png")
image("gray-16.png", np.repeat((deep >> 8).astype(np.uint8)[..., None], 3, axis=2))
deep = np.random.default_rng(10).integers(0, 65536, (5, 7, 3), dtype=np.uint16)
rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in deep)
head = chunk(b"IHDR", struct.pack(">IIBBBBB", 7, 5, 16, 2, 0, 0, 0))
(HERE / "rgb-16.png").write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
image("rgb-16.png", (deep >> 8).astype(np.uint8))
(HERE / "interlaced.png").write_bytes(interlaced(np.asarray(picture), 8, 2))
image("interlaced.png")
indices = np.random.default_rng(11).integers(0, 16, (13, 19))
palette = np.random.default_rng(12).integers(0, 256, 48).astype(np.uint8).tobytes()
(HERE / "interlaced-palette.png").write_bytes(interlaced(indices, 4, 3, palette))
image("interlaced-palette.png")
mask("interlaced-palette.png")
gray = np.random.default_rng(13).integers(0, 4, (9, 11))
(HERE / "interlaced-gray-2.png").write_bytes(interlaced(gray, 2, 0))
mask("interlaced-gray-2.png")
for orientation in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture.save(HERE / f"exif-{orientation}.png", exif=exif)
    image(f"exif-{orientation}.png")
    stored(f"exif-{orientation}.png")
picture.convert("L").save(HERE / "exif-gray.png", exif=exif)
image("exif-gray.png")

# the rest
picture.save(HERE / "lossy.webp", quality=80)
image("lossy.webp")
picture.save(HERE / "lossless.webp", lossless=True)
image("lossless.webp")
picture.save(HERE / "exif-8.webp", lossless=True, exif=exif)
image("exif-8.webp")
stored("exif-8.webp")
alpha.save(HERE / "alpha.webp", lossless=True, exact=True)
image("alpha.webp")
picture.quantize(40).save(HERE / "still.gif")
image("still.gif")
frames = [photo(37, 23, seed).quantize(20) for seed in (1, 2)]
frames[0].save(HERE / "moving.gif", save_all=True, append_images=frames[1:])
image("moving.gif")
picture.save(HERE / "plain.tif")
image("plain.tif")
picture.save(HERE / "deflate.tif", compression="tiff_deflate")
image("deflate.tif")
picture.convert("L").save(HERE / "gray.tif")
image("gray.tif")
mask("gray.tif")

# GIF: transparent pixels have their palette's colour, and a canvas around the frame its transparent index, or 0
random = np.random.default_rng(14)
for name, interlace in [("transparent", 0), ("transparent-interlaced", 1)]:
    picture.quantize(30).save(HERE / f"{name}.gif", transparency=3, interlace=interlace)
    image(f"{name}.gif")
mask("transparent.gif")
colours, others = (random.integers(0, 256, 48).astype(np.uint8).tobytes() for _ in range(2))
greys = bytes(value // 3 for value in range(48))
for name, parts in {
    "frame": {"everywhere": colours, "background": 5},
    "frame-transparent": {"everywhere": colours, "background": 5, "transparent": 9},
    "frame-own": {"everywhere": colours, "own": others, "transparent": 9},
    "frame-beyond": {"box": (15, 9, 10, 8), "own": others},
    "few-colours": {"everywhere": colours[:24], "transparent": 12},
    "grey-colours": {"everywhere": greys[:24]},
    "no-colours": {},
}.items():
    box = parts.pop("box", (4, 3, 10, 8))
    (HERE / f"{name}.gif").write_bytes(gif((20, 15), box, random.integers(0, 16, (8, 10)), **parts))
    image(f"{name}.gif")
mask("frame-own.gif")

# TIFF: CMYK, YCbCr, orientations
inks = np.dstack([np.asarray(picture), np.asarray(photo(37, 23, 15).convert("L"))])
(HERE / "cmyk.tif").write_bytes(tiff(inks, 5))
image("cmyk.tif")
picture.convert("CMYK").save(HERE / "cmyk-jpeg.tif", compression="jpeg")
image("cmyk-jpeg.tif")
(HERE / "cmyk-16.tif").write_bytes(tiff((inks.astype(np.uint16) << 8) | 77, 5, big=True))
image("cmyk-16.tif")
ycbcr = np.asarray(picture.convert("YCbCr"))
plain = {530: (3, [1, 1])}
(HERE / "ycbcr.tif").write_bytes(tiff(ycbcr, 6, plain))
image("ycbcr.tif")
(HERE / "ycbcr-deflate.tif").write_bytes(tiff(ycbcr, 6, plain | {259: (3, [8])}))
image("ycbcr-deflate.tif")
picture.convert("YCbCr").save(HERE / "ycbcr-jpeg.tif", compression="jpeg")
image("ycbcr-jpeg.tif")
for orientation in (0, 6, 9):
    big = orientation == 9
    (HERE / f"exif-{orientation}.tif").write_bytes(tiff(np.asarray(picture), 2, {274: (3, [orientation])}, big))
    image(f"exif-{orientation}.tif")
    stored(f"exif-{orientation}.tif")  # which PIL turns even so
picture.convert("1").save(HERE / "bilevel.tif", compression="group4")
image("bilevel.tif")
mask("bilevel.tif")
# Files that are refused: no picture is expected of them.
(HERE / "lab.tif").write_bytes(tiff(np.asarray(picture), 8))
(HERE / "ycbcr-studio.tif").write_bytes(
    tiff(ycbcr, 6, plain | {532: (5, [(16, 1), (235, 1), (128, 1), (240, 1), (128, 1), (240, 1)])})
)
(HERE / "ycbcr-unsaid.tif").write_bytes(tiff(ycbcr, 6))

# BMP: what PIL writes, and the kinds that it only reads
for mode, name in [("RGB", "rgb"), ("L", "gray"), ("1", "bilevel"), ("P", "palette")]:
    (picture.quantize(40) if mode == "P" else picture.convert(mode)).save(HERE / f"{name}.bmp")
    image(f"{name}.bmp")
for name in ("gray", "bilevel", "palette"):
    mask(f"{name}.bmp")
alpha.save(HERE / "rgba.bmp")
image("rgba.bmp")
random = np.random.default_rng(16)
palette = random.integers(0, 256, 16 * 4).astype(np.uint8).tobytes()
for bits in (1, 4, 8):
    rows = bmp_rows(random.integers(0, min(2**bits, 16), (9, 13)), bits)
    entries = palette[: 4 * min(2**bits, 16)]
    kinds = {"": {}, "-down": {"top_down": True}, "-os2": {"header": 12}, "-v4": {"header": 108}}
    for kind, more in kinds.items():
        few = bits == 8 and kind != "-os2"
        colours = random.integers(0, 256, 3 * 2**bits).astype(np.uint8).tobytes() if kind == "-os2" else entries
        more = {**more, "palette": colours, "colours": 16 if few else 0}
        (HERE / f"bits-{bits}{kind}.bmp").write_bytes(bmp((13, 9), bits, rows, **more))
        image(f"bits-{bits}{kind}.bmp")
        mask(f"bits-{bits}{kind}.bmp")
rows = bmp_rows(random.integers(0, 256, (9, 13)), 8)
(HERE / "beyond-palette.bmp").write_bytes(bmp((13, 9), 8, rows, palette=palette, colours=16))
image("beyond-palette.bmp")
rows = bmp_rows(random.integers(0, 256, (9, 13)), 8)
(HERE / "forgotten-palette.bmp").write_bytes(
    bmp((13, 9), 8, rows, palette=random.integers(0, 256, 1024).astype(np.uint8).tobytes(), offset=54)
)
image("forgotten-palette.bmp")
rows = bmp_rows(random.integers(0, 2**16, (9, 13)), 16)
for name, more in {
    "bits-16": {},
    "bits-16-555": {"compression": 3, "masks": (0x7C00, 0x3E0, 0x1F)},
    "bits-16-565": {"compression": 3, "masks": (0xF800, 0x7E0, 0x1F)},
    "bits-16-565-v5": {"compression": 3, "masks": (0xF800, 0x7E0, 0x1F), "header": 124},
}.items():
    (HERE / f"{name}.bmp").write_bytes(bmp((13, 9), 16, rows, **more))
    image(f"{name}.bmp")
rows = bmp_rows(random.integers(0, 2**32, (9, 13)), 32)
for name, more in {
    "bits-32": {},
    "bits-32-down": {"top_down": True},
    "bits-32-xbgr": {"compression": 3, "masks": (0xFF000000, 0xFF0000, 0xFF00)},
    "bits-32-rgba": {"compression": 3, "masks": (0xFF, 0xFF00, 0xFF0000, 0xFF000000), "header": 108},
    "bits-32-bgra": {"compression": 3, "masks": (0xFF0000, 0xFF00, 0xFF, 0xFF000000), "header": 56},
    "bits-32-unsaid": {"compression": 3, "masks": (0, 0, 0, 0), "header": 124},
}.items():
    (HERE / f"{name}.bmp").write_bytes(bmp((13, 9), 32, rows, **more))
    image(f"{name}.bmp")
(HERE / "bits-24.bmp").write_bytes(bmp((13, 9), 24, bmp_rows(random.integers(0, 2**24, (9, 13)), 24), top_down=True))
image("bits-24.bmp")
# Runs, pixels as they are (odd and even numbers of them), a short row, steps, more than a row has, and the end.
runs = bytes([13, 5, 0, 0]) + bytes([0, 5, 0x12, 3, 4, 5, 6, 0, 8, 7, 0, 0]) + bytes([4, 9, 0, 0])
runs += bytes([3, 0xA7, 0, 2, 4, 1, 2, 11, 0, 0]) + bytes([20, 6, 0, 0]) + bytes([0, 4, 1, 2, 3, 4, 9, 0x5C, 0, 0]) + bytes([13, 1, 0, 0])
runs += bytes([13, 0xE3, 0, 0]) + bytes([13, 8, 0, 1])
for bits in (4, 8):
    (HERE / f"rle-{bits}.bmp").write_bytes(
        bmp((13, 9), bits, runs, compression=3 - bits // 4, palette=(palette * 16)[: 4 * 2**bits])
    )
    image(f"rle-{bits}.bmp")
    mask(f"rle-{bits}.bmp")
# Refused by name.
(HERE / "inside-jpeg.bmp").write_bytes(bmp((13, 9), 24, b"", compression=4))
(HERE / "odd-masks.bmp").write_bytes(bmp((13, 9), 16, rows, compression=3, masks=(0xF0F0, 0x0F00, 0x000F)))

if features.check("avif"):
    picture.save(HERE / "picture.avif", quality=90, subsampling="4:4:4")
    image("picture.avif", tolerance=2)
    picture.save(HERE / "sequence.avif", save_all=True, append_images=[photo(37, 23, 8)])  # refused
    # The same pixels, turned and mirrored by the file; of an odd size, with chroma of half the size.
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        picture.save(HERE / f"turned-{orientation}.avif", quality=90, subsampling="4:2:0", exif=exif)
    exif = Image.Exif()
    exif[0x0112] = 7
    picture.save(HERE / "exif-7.avif", quality=90, subsampling="4:4:4", exif=exif)
    image("exif-7.avif", tolerance=2)
    stored("exif-7.avif", tolerance=2)

(HERE / "luma.bin").write_bytes(b"".join(lumas))
(HERE / "index.json").write_text(json.dumps(index, indent=1) + "\n")
print(len(index), "pictures,", sum(path.stat().st_size for path in HERE.iterdir()), "bytes")
