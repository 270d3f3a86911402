"""Grain over ArrayRecord files: global shuffle by index, decoding in worker processes or in threads."""

import grain
import numpy as np
from absl import flags
from array_record.python.array_record_module import ArrayRecordWriter
from recipe import from_bytes, worker_counts

TITLE = "Grain"
PACKAGES = ("grain", "array-record")
LABEL = np.dtype("<i8")


def variants(cores):
    """0 processes means threads of this one."""
    return [{"workers": n} for n in worker_counts(cores)]


def prepare(data):
    # One record a group: what its documentation asks for where records are read at random.
    writer = ArrayRecordWriter(str(data.own / "bench.array_record"), "group_size:1")
    for jpeg, label in data.samples():
        writer.write(LABEL.type(label).tobytes() + jpeg)
    writer.close()


def decode(record):
    return {"image": from_bytes(record[8:]).numpy(), "label": np.frombuffer(record, LABEL, 1)[0]}


def batches(data, workers):
    source = grain.sources.ArrayRecordDataSource([str(data.own / "bench.array_record")])
    pictures = grain.MapDataset.source(source).seed(1).shuffle().repeat().map(decode)
    if workers == 0:
        loader = pictures.to_iter_dataset().batch(256, drop_remainder=True)
    else:
        # Its workers read flags, which a program that is not an absl app has never parsed.
        flags.FLAGS.mark_as_parsed()
        # Threads inside the processes would only take turns on the same cores.
        one_thread = grain.ReadOptions(num_threads=1, prefetch_buffer_size=256)
        processes = grain.MultiprocessingOptions(num_workers=workers)
        loader = pictures.to_iter_dataset(one_thread).batch(256, drop_remainder=True).mp_prefetch(processes)
    for batch in loader:
        yield batch["image"]
