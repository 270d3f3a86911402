"""Makes the environments of the contenders: one for each requirements file.

    python3 bench/peers/install.py DIR [--torch-from VENV]

--torch-from takes torch and torchvision from an environment that has them, instead of some gigabytes more. A
package that can't be installed is named and left out; compare.py then skips its contender with the reason.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--torch-from", type=Path, help="an environment of the same Python that has torch")
    options = parser.parse_args()
    missing = []
    for name, requirements in {"main": "requirements.txt", "mosaic": "requirements-mosaic.txt"}.items():
        python = make(options.folder / name, options.torch_from)
        missing += install(python, HERE / requirements)
    link_ffmpeg(options.folder / "main")
    if missing:
        sys.exit(f"could not be installed: {', '.join(missing)}")


def make(folder, torch_from):
    python = folder / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if torch_from:
        borrowed = next(torch_from.resolve().glob("lib/python*/site-packages"))
        (next(folder.glob("lib/python*/site-packages")) / "borrowed.pth").write_text(f"{borrowed}\n")
    return python


def install(python, requirements):
    """All at once, so that versions fit together; one by one where that fails. Gives what is missing."""
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "-r", requirements]).returncode == 0:
        return []
    lines = [line.split("#")[0].strip() for line in requirements.read_text().splitlines()]
    return [name for name in lines if name and subprocess.run([*pip, name]).returncode != 0]


def link_ffmpeg(environment):
    """SPDL looks for libavcodec.so.62, which PyAV brings as libavcodec-5e6b81c2.so.62.28.102: links help."""
    links = environment / "ffmpeg"
    for library in environment.glob("lib/python*/site-packages/av.libs/lib*.so*"):
        links.mkdir(exist_ok=True)
        plain = re.sub(r"-[0-9a-f]{8}(\.so\.\d+).*", r"\1", library.name)
        for name in {library.name, plain}:
            (links / name).unlink(missing_ok=True)
            (links / name).symlink_to(library.resolve())


if __name__ == "__main__":
    main()
