/** What the package exports: a change here is a change for its users. */
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'

const built = (path: string) => {
  const url = new URL(`../build/${path}`, import.meta.url)
  if (!existsSync(url)) throw new Error(`${path} is not built: npm run build`)
  return import(url.href).then(module => Object.keys(module).sort())
}

test('millrace', async () => {
  expect(await built('all/index.js')).toMatchInlineSnapshot(`
    [
      "Batch",
      "BudgetError",
      "ChangedError",
      "CudaError",
      "DecodeError",
      "DefinitionError",
      "EngineError",
      "Feed",
      "MillraceError",
      "MissingError",
      "SampleError",
      "SourceError",
      "StateError",
      "alignRanks",
      "arrow",
      "attachSpans",
      "blend",
      "blendList",
      "boxes",
      "bytes",
      "category",
      "chat",
      "concat",
      "csv",
      "cuda",
      "cutmix",
      "diagnoseFeed",
      "diagnoseLive",
      "explainDiagnosis",
      "feed",
      "files",
      "float",
      "folder",
      "fromJson",
      "hdf5",
      "image",
      "int",
      "json",
      "jsonl",
      "kernel",
      "litdata",
      "mask",
      "mds",
      "megatron",
      "mixup",
      "mosaic",
      "netcdf4",
      "npy",
      "npyFiles",
      "npz",
      "open",
      "parquet",
      "points",
      "prometheus",
      "readRunLog",
      "safetensors",
      "sequential",
      "shuffle",
      "source",
      "spanWriters",
      "split",
      "subset",
      "synthetic",
      "tar",
      "text",
      "textLines",
      "tfrecord",
      "tokens",
      "vector",
      "weighted",
      "zarr",
      "zip",
    ]
  `)
})

test('millrace/order', async () => {
  expect(await built('core/order/index.js')).toMatchInlineSnapshot(`
    [
      "permutation",
    ]
  `)
})
