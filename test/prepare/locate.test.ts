/** What a path on the command line stands for: by its name, and where that is not enough, by what lies there. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sourceAt } from '../../src/prepare/locate.js'
import { temporaryFolder } from '../support/folder.js'

const folder = temporaryFolder()

function write(name: string, text = ''): string {
  const file = join(folder, name)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text)
  return file
}

test.each([
  ['a-{00..15}.tar', 'tar'],
  ['data/*.parquet', 'parquet'],
  ['a.feather', 'arrow'],
  ['a.npy', 'npy'],
  ['a.npz', 'npz'],
  ['model.safetensors', 'safetensors'],
  ['a.H5', 'hdf5'],
  ['a.nc', 'netcdf4'],
  ['a.zarr', 'zarr'],
  ['a.zarr.zip', 'zarr'],
  ['a.tfrecord', 'tfrecord'],
  ['a-*.jsonl.zst', 'jsonl'],
  ['a.tsv.gz', 'csv'],
])('%s is %s', async (path, format) => {
  expect(await sourceAt(path)).toEqual({ [format]: path })
})

describe('a table', () => {
  test.each([
    ['list.csv', 'path,label\na.jpg,1\n'],
    ['quoted.csv', '\uFEFF"label","path"\r\n1,a.jpg\r\n'],
    ['list.tsv', 'label\tpath\n1\ta.jpg\n'],
    ['list.jsonl', '{"label": 1, "path": "a.jpg"}\n'],
  ])('%s with a column "path" is a list of files', async (name, text) => {
    const path = write(name, text)
    expect(await sourceAt(path)).toEqual({ files: { list: path } })
  })

  test.each([
    ['table.csv', 'csv', 'pathology,label\na,1\n'],
    ['table.jsonl', 'jsonl', '{"text": "the path"}\n'],
    ['empty.jsonl', 'jsonl', ''],
  ])('%s without one is %s', async (name, format, text) => {
    const path = write(name, text)
    expect(await sourceAt(path)).toEqual({ [format]: path })
  })
})

describe('a folder', () => {
  test.each([
    ['datasets', 'state.json', '{"_data_files": []}', 'arrow'],
    ['dict', 'dataset_dict.json', '{"splits": ["train"]}', 'arrow'],
    ['v3', 'zarr.json', '{"zarr_format": 3}', 'zarr'],
    ['v2', '.zgroup', '{"zarr_format": 2}', 'zarr'],
    ['mosaic', 'index.json', '{"shards": [{"format": "mds"}], "version": 2}', 'mds'],
    ['lit', 'index.json', '{"chunks": [{"chunk_bytes": 9}], "config": {}}', 'litdata'],
  ])('%s with %s', async (name, file, text, format) => {
    write(`${name}/${file}`, text)
    expect(await sourceAt(join(folder, name))).toEqual({ [format]: join(folder, name) })
  })

  test('with files of one format is these, in order', async () => {
    const shards = ['b.parquet', 'a.parquet'].map(name => write(`shards/${name}`))
    write('shards/README.md')
    expect(await sourceAt(join(folder, 'shards'))).toEqual({ parquet: shards.sort() })
  })

  test('with other files is a folder of images', async () => {
    write('images/cat/state.json', '{}')
    write('images/state.json', '{"no": "dataset"}')
    expect(await sourceAt(join(folder, 'images'))).toEqual({ folder: join(folder, 'images') })
  })
})
