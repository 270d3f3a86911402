"""The pictures that all contenders read, and where each keeps them in its own format.

FOLDER/pictures/000/000000-0.jpg   one file a picture, in a folder a class: what every writer reads
FOLDER/tar/bench-0000.tar …        the same as Millrace packs them
FOLDER/<contender>/                the same in the contender's format, by the contender's own writer
"""

import json
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Data:
    def __init__(self, folder, contender=None):
        self.folder = Path(folder)
        self.own = None if contender is None else self.folder / contender
        self.pictures = self.folder / "pictures"
        self.tar = self.folder / "tar"

    def samples(self):
        """(bytes of the JPEG, label) of every picture, in a fixed order."""
        for path in sorted(self.pictures.glob("*/*.jpg")):
            yield path.read_bytes(), int(path.parent.name)

    def warm(self):
        """Reads every file once, so that all contenders find them in the page cache; gives their bytes."""
        return sum(len(path.read_bytes()) for path in self.folder.rglob("*") if path.is_file())


def make(folder, count):
    """Makes the pictures once; a folder made with another count is refused, not mixed."""
    data = Data(folder)
    mark = data.folder / "made.json"
    if mark.exists():
        made = json.loads(mark.read_text())["count"]
        if made != count:
            raise SystemExit(f"{folder} holds {made} pictures, not {count}: name another --data folder")
        return data
    data.folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["node", ROOT / "bench/peers/make-pictures.mjs", str(count), data.tar], check=True)
    for shard in sorted(data.tar.glob("*.tar")):
        with tarfile.open(shard) as members:
            held = {member.name: members.extractfile(member).read() for member in members}
        for name, jpeg in held.items():
            if name.endswith(".jpg"):
                place = data.pictures / f"{int(held[name[:-4] + '.cls']):03d}"
                place.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(jpeg)
    mark.write_text(json.dumps({"count": count}) + "\n")
    return data
