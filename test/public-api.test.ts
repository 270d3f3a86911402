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
      "arrow",
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
      "safetensors",
      "sequential",
      "shuffle",
      "source",
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

test('millrace/plugin', async () => {
  expect(await built('all/plugin.js')).toMatchInlineSnapshot(`
    [
      "DecodeError",
      "MillraceError",
      "SampleError",
      "SourceError",
    ]
  `)
})

test('millrace/observe', async () => {
  expect(await built('all/observe.js')).toMatchInlineSnapshot(`
    [
      "alignRanks",
      "attachSpans",
      "diagnoseFeed",
      "diagnoseLive",
      "explainDiagnosis",
      "prometheus",
      "readRunLog",
      "spanWriters",
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
