"""Python processes for a user's own Python: what the main program defines, what they print, how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from patience import PATIENCE, wait_until
from test_dataset import Pairs, batches

import millrace
from millrace._data.payload import command
from millrace.feed import run_of


def run(folder, text, *arguments, **options):
    """Runs a program."""
    path = folder / "train.py"
    path.write_text(textwrap.dedent(text))
    root = os.path.dirname(os.path.dirname(millrace.__file__))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, str(path), *arguments], text=True, env=env, timeout=PATIENCE, **options
    )


SCRIPT = """
    import sys
    import millrace

    FACTOR = int(sys.argv[1])

    class Mine:
        def __len__(self):
            return 16

        def __getitem__(self, i):
            return i * FACTOR

    def double(value, rng):
        return value * 2

    {guard}
        builder = millrace.dataset(Mine()).fields(x=millrace.int("0").map(double)).batch(16)
        with builder.open(workers=1) as feed:
            print([b["x"].tolist() for b in feed.numpy()])
"""


def run_script(tmp_path, guard):
    return run(tmp_path, SCRIPT.format(guard=guard), "10", capture_output=True)


def test_what_the_main_program_defines(tmp_path):
    done = run_script(tmp_path, 'if __name__ == "__main__":')
    assert done.stdout.strip() == str([[20 * i for i in range(16)]]), done.stderr


def test_a_main_program_that_ends_when_it_is_imported_is_told(tmp_path):
    guard = 'if __name__ != "__main__":\n        sys.exit("no more of this")\n    else:'
    done = run_script(tmp_path, guard)
    try:
        import cloudpickle  # noqa: F401 - pickles by value: nothing is imported
    except ImportError:
        assert done.returncode != 0 and "Python can't load it: SystemExit: no more of this" in done.stderr
    else:
        assert done.returncode == 0, done.stderr


def test_a_main_program_without_its_guard_is_told(tmp_path):
    done = run_script(tmp_path, "if True:")
    try:
        import cloudpickle  # noqa: F401 - pickles by value: there is nothing to guard
    except ImportError:
        assert done.returncode != 0 and 'if __name__ == "__main__"' in done.stderr
    else:
        assert done.returncode == 0, done.stderr


OWN_MODULES = """
    import millrace

    class Own:
        def __len__(self):
            return 4

        def __getitem__(self, i):
            import payload, worker_values  # beside this program

            return payload.VALUE + worker_values.VALUE + i

    if __name__ == "__main__":
        with millrace.dataset(Own()).fields(x=millrace.int("0")).batch(4).open(workers=1) as feed:
            print([b["x"].tolist() for b in feed.numpy()])
"""


def test_a_users_modules_may_have_the_names_of_ours(tmp_path):
    for name, value in (("payload", 10), ("worker_values", 100)):
        (tmp_path / f"{name}.py").write_text(f"VALUE = {value}")
    done = run(tmp_path, OWN_MODULES, capture_output=True)
    assert done.stdout.strip() == str([[110, 111, 112, 113]]), done.stderr


TALKING = """
    import sys
    import millrace

    class Talks:
        def __len__(self):
            return 64

        def __getitem__(self, i):
            sys.stdout.write(f"sample {i}\\n")
            return i

    if __name__ == "__main__":
        with millrace.dataset(Talks()).fields(x=millrace.int("0")).batch(8).open(workers=1) as feed:
            for batch in feed.numpy():
                sys.stderr.write(f"step {batch.step} of the trainer\\n")
"""


def test_lines_of_the_processes_and_of_the_trainer_are_all_in_a_log_file(tmp_path):
    log = tmp_path / "log"
    with open(log, "w") as file:
        run(tmp_path, TALKING, stderr=file, check=True)
    lines = log.read_text().splitlines()
    assert [line for line in lines if line.startswith("step")] == [
        f"step {i} of the trainer" for i in range(8)
    ]
    assert {line for line in lines if line.startswith("sample")} == {f"sample {i}" for i in range(64)}


@pytest.mark.parametrize("input", [b"", b"\x05\0", b'\x05\0\0\0{"ro'])
def test_an_input_that_ends_anywhere_ends_a_process_without_a_word(tmp_path, input):
    memory = tmp_path / "memory"
    memory.write_bytes(bytes(64))
    program = ["sh", "-c", 'exec "$@" 3<>"$0"', str(memory), *command()]
    done = subprocess.run(program, input=input, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_no_process_stays():
    with millrace.dataset(Pairs()).batch(8).open(workers=2) as feed:
        next(iter(feed.numpy()))
        engine = run_of(feed).stream.client.engine.pid
        assert wait_until(lambda: len(_children(engine)) == 2)
        makers = _children(engine)
        os.kill(makers[0], signal.SIGKILL)  # one is replaced
        assert len(batches(feed, "y")) == 5
        makers = _children(engine)
    assert wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in makers))


def _children(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    if int(file.read().rpartition(")")[2].split()[1]) == pid:
                        found.append(int(name))
            except OSError:
                pass
    return found
