"""Gives a wheel that carries the engine the tag of its platform: it has native libraries in it."""

import platform
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: The newest C library that one of the carried libraries asks for: libvips, glibc 2.28; on Alpine musl 1.2.
GLIBC, MUSL = "manylinux_2_28", "musllinux_1_2"


class EngineHook(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "editable" or not Path(self.root, "millrace", "_engine").is_dir():
            return
        libc = GLIBC if platform.libc_ver()[0] == "glibc" else MUSL
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{libc}_{platform.machine()}"
