"""Feeds of text and tokens twice: as Python spells them, and as TypeScript does (see test_build.py)."""

from pathlib import Path

import millrace


def of_field(field):
    return millrace.tar("a.tar").fields(x=field).batch(8)


TOKENS = [
    (
        millrace.jsonl("a.jsonl")
        .shuffle(seed=7, group={"batches": 32})
        .fields(x=millrace.text("text"))
        .batch(tokens=4096, rows=64, by="size", last="keep"),
        """feed({ source: jsonl('a.jsonl'), order: shuffle({ seed: 7, group: { batches: 32 } }),
             fields: { x: text('text') }, batch: { tokens: 4096, rows: 64, by: 'size', last: 'keep' } })""",
    ),
    (
        millrace.jsonl("a.jsonl")
        .shuffle(group={"by": "size"}, window=100)
        .fields(x=millrace.text("text"))
        .batch(tokens=4096, field="x"),
        """feed({ source: jsonl('a.jsonl'), order: shuffle({ window: 100, group: { by: 'size' } }),
             fields: { x: text('text') }, batch: { tokens: 4096, field: 'x' } })""",
    ),
    (
        millrace.chat(
            millrace.jsonl("a.jsonl"),
            tokenizer="model",
            length=64,
            pack="best_fit",
            now="2024-07-26",
            naming="hf",
        ).batch(4),
        """feed({ source: chat(jsonl('a.jsonl'), { tokenizer: 'model', length: 64, pack: 'bestFit',
             now: '2024-07-26', naming: 'hf' }), batch: 4 })""",
    ),
    (
        millrace.chat(millrace.parquet("a.parquet"), tokenizer="model", length=64, pairs=True).batch(4),
        """feed({ source: chat(parquet('a.parquet'), { tokenizer: 'model', length: 64, pairs: true }),
             batch: 4 })""",
    ),
    (
        of_field(
            millrace.text("text")
            .tokenize(Path("tokenizer.json"), max=64, truncate="left", special="parse", append="eod")
            .pad(to=64)
            .dtype("i32")
            .missing("")
        ),
        """f(text('text').tokenize({ tokenizer: 'tokenizer.json', max: 64, truncate: 'left', special: 'parse',
             append: 'eod' }).pad({ to: 64 }).dtype('i32').missing(''))""",
    ),
    (
        millrace.blend(
            [
                {"source": millrace.tokens("a", length=8), "weight": 2, "corpus": "web"},
                {"source": millrace.tokens("b", length=8), "weight": 1, "corpus": "web"},
            ],
            by="tokens",
            schedule="deficit",
            max_epochs=2,
        ).batch(1),
        """feed({ source: blend([{ source: tokens('a', { length: 8 }), weight: 2, corpus: 'web' },
             { source: tokens('b', { length: 8 }), weight: 1, corpus: 'web' }],
             { by: 'tokens', schedule: 'deficit', maxEpochs: 2 }), batch: 1 })""",
    ),
    (
        millrace.blend_list("files.txt", length=8, eod=0, epochs={"web": 1, "wiki": 2.5})
        .megatron()
        .sequential()
        .batch(1),
        """feed({ source: blendList('files.txt', { tokens: { length: 8, eod: 0 },
             epochs: { web: 1, wiki: 2.5 } }), order: sequential(), batch: 1 })""",
    ),
    (
        millrace.tokens("a", length=8)
        .megatron(samples=9, split="8,1,1", take="valid", keep_partial=True)
        .batch(1),
        """feed({ source: tokens('a', { length: 8 }),
             order: megatron({ samples: 9, split: '8,1,1', take: 'valid', keepPartial: true }),
             batch: 1 })""",
    ),
]
