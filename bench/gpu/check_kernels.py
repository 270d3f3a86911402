"""Checks the CUDA kernels on a GPU against the CPU's bytes, bit for bit, then times `picture`.

node bench/gpu/kernel-cases.mjs FOLDER          # where Node is
python3 bench/gpu/check_kernels.py FOLDER [--kernels packages/pixels/transform/kernels/cuda] [--out result.json]
"""

import argparse
import ctypes
import glob
import json
import os
import struct
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from functools import partial
from pathlib import Path

import numpy

from millrace._cuda.kernels import Sources

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NUMBER, INPUT, OUTPUT, ROOM, LIST = range(5)
# The kernels of launch.mjs, by number, and the files that hold them.
KERNELS = ["picture", "mix", "synthetic", "philox", "draw"]
UNITS = {"picture": "picture.cu", "mix": "mix.cu", "synthetic": "synthetic.cu", "philox": "philox.cu"}
BLOCKS = [8, 16, 32, 132, 264]
THREADS = [256, 512, 1024]


def library(name):
    """By its name, or in CUDA's folders, or in those of Python's packages."""
    places = [
        *glob.glob(f"/usr/local/cuda*/targets/x86_64-linux/lib/{name}*"),
        *glob.glob(f"/usr/local/cuda*/lib64/{name}*"),
        *[found for path in sys.path for found in glob.glob(f"{path}/nvidia/*/lib/{name}*")],
    ]
    for place in [f"{name}.13", f"{name}.12", name, *sorted(places)]:
        try:
            return ctypes.CDLL(place)
        except OSError:
            pass
    sys.exit(f"there is no {name}")


class Device:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, self.context = c_int(), c_void_p()
        self.call("cuDeviceGet", byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()
        major, minor = c_int(), c_int()
        self.call("cuDeviceGetAttribute", byref(major), 75, device)
        self.call("cuDeviceGetAttribute", byref(minor), 76, device)
        self.architecture = f"sm_{major.value}{minor.value}"
        self.taken = []

    def call(self, function, *arguments):
        status = getattr(self.cuda, function)(*arguments)
        if status != 0:
            text = c_char_p()
            self.cuda.cuGetErrorName(status, byref(text))
            raise RuntimeError(f"{function}: {text.value.decode() if text.value else status}")

    def take(self, size):
        pointer = c_uint64()
        self.call("cuMemAlloc_v2", byref(pointer), c_size_t(max(size, 16)))
        self.taken.append(pointer)
        return pointer.value

    def put(self, data):
        data = numpy.frombuffer(data, dtype=numpy.uint8)
        pointer = self.take(len(data))
        if len(data):
            self.call("cuMemcpyHtoD_v2", c_uint64(pointer), c_void_p(data.ctypes.data), c_size_t(len(data)))
        return pointer

    def get(self, pointer, size):
        data = numpy.empty(size, dtype=numpy.uint8)
        self.call("cuMemcpyDtoH_v2", c_void_p(data.ctypes.data), c_uint64(pointer), c_size_t(size))
        return data

    def release(self):
        for pointer in self.taken:
            self.call("cuMemFree_v2", pointer)
        self.taken = []


def compile_unit(nvrtc, path, folder, architecture):
    """A cubin, with the headers that the client gives: the folder's and the operators'."""
    headers = Sources(Path(folder)).headers
    texts = [text.encode() for text in headers.values()]
    names = [name.encode() for name in headers]
    program = c_void_p()
    count = len(headers)
    with open(path, "rb") as file:
        source = file.read()
    included = (c_char_p * count)(*texts), (c_char_p * count)(*names)
    name = os.path.basename(path).encode()
    status = nvrtc.nvrtcCreateProgram(byref(program), source, name, count, *included)
    assert status == 0, f"nvrtcCreateProgram: {status}"
    options = [f"--gpu-architecture={architecture}", "--fmad=false", "--std=c++17", "-default-device"]
    encoded = [option.encode() for option in options]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (c_char_p * len(options))(*encoded))
    size = c_size_t()
    if status != 0:
        nvrtc.nvrtcGetProgramLogSize(program, byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(f"{path} does not compile:\n{log.value.decode()}")
    nvrtc.nvrtcGetCUBINSize(program, byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    return cubin.raw


class Launches:
    """The launches of a file, in the form of launch.mjs."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.at = 0

    def read(self, size):
        part = self.data[self.at : self.at + size]
        self.at += (size + 7) // 8 * 8
        return part

    def __iter__(self):
        while self.at < len(self.data):
            kernel, blocks, threads, count = struct.unpack("<4I", self.read(16))
            yield KERNELS[kernel], blocks, threads, [self.argument() for _ in range(count)]

    def argument(self):
        kind, _, value = struct.unpack("<2IQ", self.read(16))
        if kind == INPUT:
            return kind, self.read(value)
        if kind == LIST:
            return kind, [self.argument()[1] for _ in range(value)]
        return kind, value


class Kernels:
    def __init__(self, device, folder):
        self.device = device
        nvrtc = library("libnvrtc.so")
        self.functions = {}
        for name, file in UNITS.items():
            path = os.path.join(folder, file)
            if not os.path.exists(path):
                path = os.path.join(ROOT, "test/support/gpu", file)
            if not os.path.exists(path):
                continue
            cubin = compile_unit(nvrtc, path, folder, device.architecture)
            module, function = c_void_p(), c_void_p()
            device.call("cuModuleLoadData", byref(module), cubin)
            device.call("cuModuleGetFunction", byref(function), module, name.encode())
            self.functions[name] = function
            registers, local = c_int(), c_int()
            device.call("cuFuncGetAttribute", byref(registers), 4, function)
            device.call("cuFuncGetAttribute", byref(local), 3, function)
            print(f"{name}: {len(cubin)} bytes, {registers.value} registers, {local.value} bytes local")

    def prepare(self, arguments, blocks):
        """Brings arguments to the device; returns their values, and the output's address and size."""
        values, output = [], None
        for kind, value in arguments:
            if kind == INPUT:
                value = self.device.put(value)
            elif kind == ROOM:
                value = self.device.take(value * blocks)
            elif kind == OUTPUT:
                output = (self.device.take(value), value)
                value = output[0]
            elif kind == LIST:
                addresses = [self.device.put(item) if len(item) else 0 for item in value]
                value = self.device.put(struct.pack(f"<{len(addresses)}Q", *addresses))
            values.append(value)
        return values, output

    def launch(self, name, blocks, threads, values):
        # Every argument in 8 bytes of its own: kernels read as many of them as they take.
        held = [c_uint64(value) for value in values]
        pointers = (c_void_p * len(held))(*[ctypes.cast(byref(value), c_void_p) for value in held])
        sizes = (blocks, 1, 1, threads, 1, 1, 0)
        self.device.call("cuLaunchKernel", self.functions[name], *sizes, c_void_p(0), pointers, c_void_p(0))


def check(kernels, folder, names, sizes):
    """Every launch's output is what the CPU made. Returns how many are not."""
    device = kernels.device
    expected = numpy.fromfile(os.path.join(folder, "expected.bin"), dtype=numpy.uint8)
    at = wrong = 0
    for (kernel, blocks, threads, arguments), name, size in zip(
        Launches(os.path.join(folder, "cases.bin")), names, sizes
    ):
        wanted = expected[at : at + size]
        at += size
        if kernel not in kernels.functions:
            print(f"left out: {name}")
            continue
        values, output = kernels.prepare(arguments, blocks)
        kernels.launch(kernel, blocks, threads, values)
        device.call("cuCtxSynchronize")
        made = device.get(*output)
        device.release()
        different = numpy.flatnonzero(made != wanted)
        if len(different):
            wrong += 1
            first = int(different[0])
            found = f"first {first}: {made[first]} for {wanted[first]}"
            print(f"DIFFERS: {name}: {len(different)} of {size} bytes, {found}")
    print(f"{len(names) - wrong} of {len(names)} launches give the CPU's bytes")
    return wrong


def median_ms(device, run, rounds=7):
    begin, end = c_void_p(), c_void_p()
    device.call("cuEventCreate", byref(begin), 0)
    device.call("cuEventCreate", byref(end), 0)
    times = []
    for _ in range(rounds + 2):
        device.call("cuEventRecord", begin, c_void_p(0))
        run()
        device.call("cuEventRecord", end, c_void_p(0))
        device.call("cuEventSynchronize", end)
        ms = ctypes.c_float()
        device.call("cuEventElapsedTime", byref(ms), begin, end)
        times.append(ms.value)
    return sorted(times[2:])[rounds // 2]


def measure(kernels, folder, benches):
    device = kernels.device
    results = []
    for bench in benches:
        [(kernel, _, _, arguments)] = Launches(os.path.join(folder, bench["file"]))
        rows = arguments[2][1]
        # Their content changes nothing but histograms: smooth, with some noise.
        ramp = numpy.arange(bench["pictureBytes"], dtype=numpy.float64)
        noise = numpy.random.default_rng(1).normal(0, 8, bench["pictureBytes"])
        picture = numpy.clip(128 + 80 * numpy.sin(ramp / 700) + noise, 0, 255).astype(numpy.uint8).tobytes()
        arguments = [(LIST, [picture] * rows) if kind == LIST else (kind, value) for kind, value in arguments]
        values, _ = kernels.prepare(arguments, max(BLOCKS))
        print(f"{bench['name']}, {rows} rows: ms, and µs a row and block")
        for threads in THREADS:
            line = []
            for blocks in BLOCKS:
                ms = median_ms(device, partial(kernels.launch, kernel, blocks, threads, values))
                each = ms * 1000 * min(blocks, rows) / rows
                line.append(f"{blocks} blocks {ms:.2f} ({each:.0f})")
                shape = {"threads": threads, "blocks": blocks}
                results.append({"name": bench["name"], **shape, "ms": round(ms, 4)})
            print(f"  {threads} threads: " + ", ".join(line))
        device.release()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--kernels", default=os.path.join(ROOT, "packages/pixels/transform/kernels/cuda"))
    parser.add_argument("--out")
    options = parser.parse_args()
    with open(os.path.join(options.folder, "cases.json"), encoding="utf-8") as file:
        cases = json.load(file)
    device = Device()
    print(f"{device.name}, {device.architecture}")
    kernels = Kernels(device, options.kernels)
    wrong = check(kernels, options.folder, cases["names"], cases["sizes"])
    results = measure(kernels, options.folder, cases["benches"])
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"device": device.name, "wrong": wrong, "picture": results}, file, indent=1)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
