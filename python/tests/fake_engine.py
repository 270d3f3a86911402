"""An engine that speaks docs/protocol.md and makes batches of numbers: for testing the client alone.

Run as `python fake_engine.py serve --socket PATH --starter PID`. The feed it understands:

    {"fake": {"length": 20, "rows": 4, "last": "keep", "slow": 0, "bad": [], "policy": "fail", "failAt": 3}}

Row p of epoch e is the number 1000 · e + p in several shapes; its name is "sample-p".
"""

from __future__ import annotations

import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time
from typing import Any, Dict, List, Optional

import numpy as np

CONTROL = 65536
LONGEST = 8


class Ring:
    def __init__(self, feed: Dict[str, Any], options: Dict[str, Any]) -> None:
        self.length: int = feed["length"]
        self.rows: int = feed["rows"]
        self.last: str = feed.get("last", "keep")
        self.slow: float = feed.get("slow", 0)
        self.bad: List[int] = feed.get("bad", [])
        self.policy: str = feed.get("policy", "fail")
        self.fail_at: Optional[int] = feed.get("failAt")
        self.rank, self.world = options["rank"], options["world"]
        depth: int = options.get("depth", 4)
        self.slots: int = 2 * depth
        self.fields = self.lay_out()
        self.fd = os.memfd_create("fake")
        os.ftruncate(self.fd, CONTROL + self.slots * self.slot_bytes)
        self.map = mmap.mmap(self.fd, CONTROL + self.slots * self.slot_bytes)
        self.tune(depth)
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        self.generation = 0
        state = options.get("state") or {"epoch": 0, "position": 0}
        self.start(state["epoch"], state["position"], options.get("limit"), [])

    def tune(self, depth: int) -> None:
        """The depth stands in the first word of the control page."""
        self.depth = depth
        self.map[0:4] = depth.to_bytes(4, "little")

    def lay_out(self) -> List[Dict[str, Any]]:
        B, self.next = self.rows, 256

        def take(size: int) -> int:
            at = self.next
            self.next = (at + size + 63) // 64 * 64
            return at

        self.status_at, self.position_at = take(B), take(8 * B)
        varying = [
            ("tokens", "i32", "padded", 4),
            ("parts", "f32", "ragged", 4),
            ("caption", "u8", "text", 1),
        ]
        columns = [{"lengthAt": take(4 * B), "offsetsAt": take(4 * B + 4)} for _ in varying]
        self.next = self.data_at = (self.next + 65535) // 65536 * 65536
        dense = [("number", "i64", [], 8), ("image", "f32", [3, 4, 4], 192), ("half", "bf16", [2], 4)]
        fields = [
            {
                "name": n,
                "dtype": d,
                "shape": s,
                "form": "dense",
                "at": take(B * size),
                "layout": "chw" if n == "image" else None,
            }
            for n, d, s, size in dense
        ]
        for (name, dtype, form, size), places in zip(varying, columns):
            longest = 64 if form == "text" else LONGEST
            places["at"] = take(B * longest * size)
            fields.append({"name": name, "dtype": dtype, "shape": [], "form": form, **places})
        self.slot_bytes = (self.next + 65535) // 65536 * 65536
        return fields

    def start(self, epoch: int, position: int, limit: Optional[int], held: List[int]) -> None:
        left = self.length - position
        if left == 0 or (self.last == "drop" and left < self.rows * self.world):
            epoch, position = epoch + 1, 0
        self.epoch, self.position = epoch, position
        self.step = position // (self.rows * self.world)
        self.limit, self.batch = limit, 0
        #: What is wrong with the bad rows of each batch.
        self.told: Dict[int, List[Dict[str, Any]]] = {}
        self.held = set(held)
        self.due = time.monotonic() + self.slow
        self.generation += 1
        self.map[256:384] = bytes(128)

    def make(self) -> bool:
        """Makes one batch, if a slot is free."""
        if len(self.held) >= self.depth or (self.limit is not None and self.batch >= self.limit):
            return False
        if time.monotonic() < self.due or (self.fail_at is not None and self.batch >= self.fail_at):
            return False
        size = self.rows * self.world
        if self.last == "drop" and self.position + size > self.length:
            self.epoch, self.position, self.step = self.epoch + 1, 0, 0
        slot = min(set(range(self.depth)) - self.held)
        self.held.add(slot)
        self.fill(slot, size)
        place = self.batch % 32
        struct.pack_into("<i", self.map, 128 + 4 * place, slot)
        struct.pack_into("<I", self.map, 256 + 4 * place, (self.batch + 1) & 0xFFFFFFFF)
        struct.pack_into("<i", self.map, CONTROL + slot * self.slot_bytes + 16, 1)
        self.batch += 1
        self.due = time.monotonic() + self.slow
        try:
            os.write(self.writer, b"\0")
        except BlockingIOError:
            pass
        return True

    def fill(self, slot: int, size: int) -> None:
        at = CONTROL + slot * self.slot_bytes
        self.map[at : at + 256] = bytes(256)
        left = self.length - self.position
        if left >= size or self.last == "pad":
            first, count = self.position + self.rank * self.rows, self.rows
        else:
            run, longer = divmod(left, self.world)
            first = self.position + self.rank * run + min(self.rank, longer)
            count = run + (self.rank < longer)
        wanted = list(range(first, first + count))
        status = [3 if p >= self.length else 2 if p in self.bad else 1 for p in wanted]
        told = [(row, f"sample-{p}") for row, (p, s) in enumerate(zip(wanted, status)) if s == 2]
        bad = len(told)
        self.told[self.batch] = [
            {"row": row, "id": name, "stage": "decode", "message": f"{name}: torn"} for row, name in told
        ]
        rows = [
            (p % self.length, s) for p, s in zip(wanted, status) if not (s == 2 and self.policy == "drop")
        ]
        numbers = [1000 * self.epoch + p if s != 2 else 0 for p, s in rows]
        count = len(rows)

        def array(shape: Any, dtype: str, offset: int) -> Any:
            return np.ndarray(shape, dtype, self.map, at + offset)

        array((count,), "u1", self.status_at)[:] = [s for _, s in rows]
        array((count,), "<f8", self.position_at)[:] = [p for p, _ in rows]
        number, image, half, tokens, parts, caption = self.fields
        array((count,), "<i8", number["at"])[:] = numbers
        array((count, 3, 4, 4), "<f4", image["at"])[:] = np.reshape(numbers, (-1, 1, 1, 1))
        bits = np.repeat(np.array(numbers, "<f4").view("<u4") >> 16, 2).reshape(count, 2)
        array((count, 2), "<u2", half["at"])[:] = bits
        lengths = [n % LONGEST + 1 for n in numbers]
        longest = max(lengths, default=0)
        array((count,), "<i4", tokens["lengthAt"])[:] = lengths
        table = array((count, longest), "<i4", tokens["at"])
        for i, n in enumerate(lengths):
            table[i] = [numbers[i] if j < n else -1 for j in range(longest)]
        offsets = np.cumsum([0, *lengths])
        array((count + 1,), "<i4", parts["offsetsAt"])[:] = offsets
        array((int(offsets[-1]),), "<f4", parts["at"])[:] = np.repeat(numbers, lengths)
        texts = [f"sample {n}{' ü' if n % 2 else ''}".encode() for n in numbers]
        ends = np.cumsum([0, *(len(t) for t in texts)])
        array((count + 1,), "<i4", caption["offsetsAt"])[:] = ends
        array((int(ends[-1]),), "u1", caption["at"])[:] = np.frombuffer(b"".join(texts), "u1")

        struct.pack_into("<ii", self.map, at + 8, count, bad)
        cursors = [0, 0, 0, longest, int(offsets[-1]), int(ends[-1])]
        struct.pack_into("<6i", self.map, at + 32, *cursors)
        here, step = (self.epoch, self.position), self.step
        self.position, self.step = self.position + size, self.step + 1
        left = self.length - self.position
        if left <= 0 or (self.last == "drop" and left < size):
            self.epoch, self.position, self.step = self.epoch + 1, 0, 0
        struct.pack_into("<5d", self.map, at + 208, self.epoch, self.position, here[0], step, here[1])

    def beat(self) -> None:
        struct.pack_into("<d", self.map, 640, time.monotonic())

    def opened(self) -> Dict[str, Any]:
        size = self.rows * self.world
        steps = self.length // size if self.last == "drop" else -(-self.length // size)
        here = f"/proc/{os.getpid()}/fd/"
        layout = {"rows": self.rows, "statusAt": self.status_at, "positionAt": self.position_at,
                  "dataAt": self.data_at}  # fmt: skip
        return {
            "version": 3,
            "engine": {"pid": os.getpid(), "started": "", "millrace": "fake"},
            "memory": {
                "path": here + str(self.fd), "dataPath": here + str(self.fd),
                "bytes": CONTROL + self.slots * self.slot_bytes,
                "control": CONTROL, "slots": self.slots, "slotBytes": self.slot_bytes,
            },
            "ready": {"path": here + str(self.reader)},
            "layout": {**layout, "chunks": 1, "fields": self.fields},
            "rank": self.rank, "world": self.world, "length": self.length,
            "steps": {"epoch": steps, "first": steps},
            "place": {"epoch": self.epoch, "position": self.position}, "depth": self.depth,
            "generation": self.generation, "last": self.last, "onError": {"policy": self.policy, "budget": 2},
            "state": {"version": 1, "order": "fake", "content": "fake", "describe": {}}, "notices": [],
        }  # fmt: skip


class Connection:
    def __init__(self, sock: socket.socket) -> None:
        self.sock, self.rest = sock, b""
        self.ring: Optional[Ring] = None

    def say(self, message: Dict[str, Any]) -> None:
        self.sock.sendall(json.dumps(message).encode() + b"\n")

    def hear(self) -> bool:
        try:
            data = self.sock.recv(65536)
        except OSError:
            return False
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            answer = self.answer(request)
            if answer is not None:
                self.say({"id": request["id"], **answer})
        return bool(data)

    def answer(self, request: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        if "open" in request:
            told = request["open"]["feed"]
            if "fake" not in told:
                return {"error": {"tag": "Definition", "message": "source: this engine only makes numbers"}}
            state = request["open"]["options"].get("state")
            if state and state["order"] != "fake":
                return {"error": {"tag": "State", "message": "the state was saved from another order"}}
            self.ring = Ring(told["fake"], request["open"]["options"])
            self.ring.beat()
            return {"opened": self.ring.opened()}
        ring = self.ring
        assert ring is not None
        if "release" in request:
            ring.held.remove(request["release"])  # twice is an error, and ends the engine
        elif "move" in request:
            to = request["move"]
            ring.start(to["epoch"], to["position"], to["limit"], to["held"])
            return {"moved": {"generation": ring.generation}}
        elif "limit" in request:
            ring.limit = request["limit"]
        elif "names" in request:
            return {"names": [f"sample-{p}" for p in request["names"]["positions"]]}
        elif "bad" in request:
            return {"bad": ring.told.pop(request["bad"], [])}
        elif "stats" in request:
            return {
                "stats": {
                    "workers": 1,
                    "depth": ring.depth,
                    "held": len(ring.held),
                    "spans": {"decode": 3.0, "read": 1.0},
                }
            }
        elif "account" in request:
            return {"known": {"unknown": "this engine writes no spans"}}
        elif "decoder" in request:
            return {"decoder": {"open": False, "why": "this engine has no tuner"}}
        elif "tune" in request:
            ring.tune(request["tune"].get("depth", ring.depth))
            return {"tuned": {"workers": 1, "depth": ring.depth}}
        return None


def record_trace() -> None:
    """In place of ``millrace trace record``: writes what it was asked for, and that it was ended."""
    with open(sys.argv[sys.argv.index("--out") + 1], "w") as out:
        signal.signal(signal.SIGINT, lambda *_: sys.exit(out.write("ended")))
        out.write(f"{sys.argv[3]} ")
        out.flush()
        while True:
            time.sleep(0.01)


def main() -> None:
    if sys.argv[1:3] == ["trace", "record"]:
        return record_trace()
    path, starter = sys.argv[sys.argv.index("--socket") + 1], int(sys.argv[sys.argv.index("--starter") + 1])
    print("fake engine listens", file=sys.stderr, flush=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    connections: List[Connection] = []
    patience = time.monotonic() + 60
    while (connections or time.monotonic() < patience) and os.path.exists(f"/proc/{starter}"):
        busy = False
        for connection in connections:
            ring = connection.ring
            if ring is not None:
                ring.beat()
                busy |= ring.make()
                if ring.fail_at is not None and ring.batch >= ring.fail_at:
                    ring.fail_at = None
                    ring.limit = ring.batch
                    connection.say({"failed": {"tag": "Engine", "message": "sample-9 has taken 60 s"}})
        waiting = any(c.ring is not None and c.ring.slow > 0 for c in connections)
        seconds = 0 if busy else 0.005 if waiting else 0.05
        readable, _, _ = select.select([listener, *(c.sock for c in connections)], [], [], seconds)
        for sock in readable:
            if sock is listener:
                connections.append(Connection(listener.accept()[0]))
                continue
            connection = next(c for c in connections if c.sock is sock)
            if not connection.hear():
                connections.remove(connection)
                patience = time.monotonic() + 0.7
    os.unlink(path)


if __name__ == "__main__":
    main()
