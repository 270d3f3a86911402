"""The socket to the engine: answers find their askers, in any order and thread; its end is told to all."""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import contextmanager

import pytest
from patience import PATIENCE, wait_until

import millrace
from millrace._client.wire import ConnectionClosed, Wire


class Engine:
    """The other end of a wire: reads requests, and answers when it is told to."""

    def __init__(self, sock):
        self.sock = sock
        self.lines = sock.makefile("r")

    def requests(self, count):
        return [json.loads(self.lines.readline()) for _ in range(count)]

    def say(self, *messages):
        self.sock.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def close(self):
        self.lines.close()
        self.sock.close()


@contextmanager
def connected():
    here, there = socket.socketpair()
    there.settimeout(PATIENCE)
    wire, engine = Wire(here), Engine(there)
    try:
        yield wire, engine
    finally:
        wire.close()
        engine.close()


class Asker(threading.Thread):
    """Asks in a thread of its own; keeps what came."""

    def __init__(self, wire, message, **options):
        super().__init__(daemon=True)
        self.result = None

        def ask():
            try:
                self.result = wire.ask(message, **options)
            except BaseException as error:
                self.result = error

        self.run = ask
        self.start()

    def came(self):
        self.join(PATIENCE)
        assert not self.is_alive()
        return self.result


def test_answers_find_their_askers_in_any_order():
    with connected() as (wire, engine):
        askers = [Asker(wire, {"question": number}) for number in range(8)]
        asked = engine.requests(8)
        assert len({request["id"] for request in asked}) == 8
        engine.say({"id": 999, "answer": "to nothing"})
        engine.say(*({"id": one["id"], "answer": one["question"] * 10} for one in reversed(asked)))
        assert [asker.came()["answer"] for asker in askers] == [number * 10 for number in range(8)]


def test_an_error_is_raised_where_it_was_asked():
    with connected() as (wire, engine):
        asker = Asker(wire, {"question": 1})
        (request,) = engine.requests(1)
        engine.say({"id": request["id"], "error": {"tag": "State", "message": "another order"}})
        assert isinstance(asker.came(), millrace.StateError)


def test_the_end_is_told_to_all_that_wait_and_to_all_that_ask_later():
    with connected() as (wire, engine):
        askers = [Asker(wire, {"question": number}) for number in range(4)]
        requests = engine.requests(4)
        engine.say({"id": requests[0]["id"], "answer": 7})  # what came before the end is an answer
        engine.close()
        results = [asker.came() for asker in askers]
        assert [result["answer"] for result in results if isinstance(result, dict)] == [7]
        assert sum(isinstance(result, ConnectionClosed) for result in results) == 3
        assert wire.ended
        assert isinstance(Asker(wire, {"question": 5}).came(), ConnectionClosed)


def test_an_asker_that_was_interrupted_leaves_nothing_behind():
    def interrupt():
        raise KeyboardInterrupt

    with connected() as (wire, engine):
        assert isinstance(Asker(wire, {"question": 1}, check=interrupt).came(), KeyboardInterrupt)
        (late,) = engine.requests(1)
        engine.say({"id": late["id"], "answer": "too late"})
        asker = Asker(wire, {"question": 2})
        (request,) = engine.requests(1)
        engine.say({"id": request["id"], "answer": "in time"})
        assert asker.came()["answer"] == "in time"


def test_nothing_is_sent_for_a_message_that_turns_out_to_be_none():
    with connected() as (wire, engine):
        wire.send(lambda: None)
        wire.send({"told": 1})
        assert engine.requests(1) == [{"told": 1}]


def test_a_failure_wakes_a_thread_that_waits_for_a_batch():
    with connected() as (wire, engine):
        ready, _ = pipe = socket.socketpair()
        waiting = threading.Thread(target=wire.wait, args=(ready.fileno(), PATIENCE), daemon=True)
        waiting.start()
        engine.say({"failed": {"tag": "Engine", "message": "it has taken 60 s"}})
        waiting.join(PATIENCE / 2)
        assert not waiting.is_alive()
        assert wait_until(lambda: wire.failure is not None)
        with pytest.raises(millrace.MillraceError, match="60 s"):
            raise wire.failure
        for end in pipe:
            end.close()


def test_a_wait_that_meets_a_closed_connection_returns():
    ready, other = os.pipe()
    os.close(other)
    with connected() as (wire, _):
        os.close(ready)  # another thread closes the feed
        wire.wait(ready, 0)
        wire.close()
        wire.wait(ready, 0)
