"""One batch, put on the streams: what is generated, what is copied, what is finished here."""

from __future__ import annotations

from typing import Any, Dict, Hashable, Mapping, NamedTuple

from .._cuda.memory import Memory
from .fields import DeviceField
from .ticket import HostBatch, Ticket
from .tools import Tools


class Parts(NamedTuple):
    """What a stage makes batches with."""

    tools: Tools
    memory: Memory
    #: Those that are finished here.
    fields: Mapping[Hashable, DeviceField]
    #: What makes others out of nothing; None where nothing is.
    generator: Any


def make(parts: Parts, batch: HostBatch, ticket: Ticket) -> None:
    """Puts the work for a batch on the streams: the arrays of the ticket are where it goes."""
    tools, memory, fields, generator = parts
    if generator is not None and batch.made is not None:
        addresses: Dict[str, int] = {}
        for name, kind, shape in generator.outputs:
            whole = (batch.made.count, *shape)
            addresses[name], ticket.arrays[name] = memory.array(whole, kind, tools.work)
        generator.make(batch.made, addresses)
    # Small things first: they come in while pictures are decoded.
    for name, values, kind in batch.arrays:
        if name not in fields:
            address, ticket.arrays[name] = memory.array(values.shape, kind, tools.feed)
            copy_in(tools, address, values)
    for name, values, _ in batch.arrays:
        field = fields.get(name)
        if field is not None:
            shape = (len(values), *field.shape)
            address, ticket.arrays[name] = memory.array(shape, field.kind, field.stream)
            bad = field.make(values, address, batch.redo)
            if bad:
                ticket.bad[name] = bad


def copy_in(tools: Tools, address: int, values: Any) -> None:
    """An array to the device; its rows may lie apart from each other."""
    if values.size == 0:
        return
    host, size = values.ctypes.data, values.nbytes
    if values.flags.c_contiguous:
        tools.driver.copy_in(address, host, size, tools.feed)
        return
    if not values[0].flags.c_contiguous:
        raise ValueError("rows of a field must be without gaps")
    width = size // len(values)
    tools.driver.copy_rows_in(address, width, host, values.strides[0], width, len(values), tools.feed)
