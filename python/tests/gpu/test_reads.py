"""Host memory that a device still reads: let go of in order, in any thread, while others look at it."""

from __future__ import annotations

import threading
import weakref

import pytest
from patience import PATIENCE

from millrace._cuda.reads import Reads


class Memory:
    """Something that can be referred to weakly."""


class Moment:
    """An event that comes when it is told to, or waited for."""

    def __init__(self, meanwhile=lambda: None):
        self.come = False
        self.meanwhile = meanwhile

    def query(self):
        come = self.come
        self.meanwhile()
        return come

    def synchronize(self):
        self.meanwhile()
        self.come = True


def reading(moments):
    """Reads of as many memories, and weak references to those."""
    reads, memories = Reads(), [Memory() for _ in moments]
    for moment, memory in zip(moments, memories):
        reads.add(moment, memory)
    return reads, [weakref.ref(memory) for memory in memories]


def kept(memories):
    return [memory() is not None for memory in memories]


def test_what_was_read_is_let_go_of_and_nothing_behind_it():
    moments = [Moment() for _ in range(4)]
    reads, memories = reading(moments)
    assert reads.let_go() == 4
    moments[1].come = True  # not in its turn
    assert reads.let_go() == 4 and kept(memories) == [True] * 4
    moments[0].come = True
    assert reads.let_go() == 2 and kept(memories) == [False, False, True, True]
    assert reads.wait_for_oldest() and len(reads) == 1
    reads.clear()
    assert not reads.wait_for_oldest() and kept(memories) == [False] * 4


@pytest.mark.parametrize("way", ["let_go", "wait_for_oldest"])
def test_a_loop_that_is_collected_meanwhile_lets_go_as_well(way):
    """A garbage collection may come while an event is looked at or waited for, and close another loop."""
    inside = []

    def collect():
        if not inside:
            inside.append(True)
            while len(reads) > 2:
                reads.wait_for_oldest()

    moments = [Moment(collect) for _ in range(4)]
    reads, memories = reading(moments)
    moments[0].come = True
    getattr(reads, way)()
    # Nothing that is still read was let go of.
    assert all(moment.come or memory() is not None for moment, memory in zip(moments, memories))
    assert len(reads) == sum(kept(memories)) == 2


def test_one_thread_that_waits_keeps_no_other_from_going_on():
    waiting, go_on = threading.Event(), threading.Event()

    class Slow(Moment):
        def synchronize(self):
            waiting.set()
            go_on.wait(PATIENCE)
            super().synchronize()

    reads, memories = reading([Slow()])
    thread = threading.Thread(target=reads.wait_for_oldest)
    thread.start()
    assert waiting.wait(PATIENCE)
    reads.add(Moment(), Memory())
    assert reads.let_go() == 2 and kept(memories) == [True]
    reads.clear()
    assert kept(memories) == [True], "the memory outlasts the wait for it"
    go_on.set()
    thread.join(PATIENCE)
    assert kept(memories) == [False] and len(reads) == 0
