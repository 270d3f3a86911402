/** What a path on the command line stands for: by its name, and where that is not enough, by what lies there. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { sourceAt } from '../../prepare/locate.js'

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

  test('whose first row names a file is a list of files, by that column', async () => {
    write('birds/images/1.jpg')
    const csv = write('birds/labels.csv', '\uFEFF"species","filename"\r\nwren,"images/1.jpg"\r\n')
    expect(await sourceAt(csv)).toEqual({ files: { list: csv, path: 'filename' } })
    const jsonl = write('birds/labels.jsonl', '{"label": 1, "file": "images/1.jpg"}\n')
    expect(await sourceAt(jsonl)).toEqual({ files: { list: jsonl, path: 'file' } })
    const tsv = write('birds/labels.tsv', 'file\tnote\nimages/2.jpg\tnot there\n')
    expect(await sourceAt(tsv)).toEqual({ csv: tsv })
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

  test('with files of one format is these', async () => {
    for (const name of ['b.parquet', 'a.parquet', 'README.md']) write(`shards/${name}`)
    expect(await sourceAt(join(folder, 'shards'))).toEqual({ parquet: join(folder, 'shards/*.parquet') })
    expect(await sourceAt(`${join(folder, 'shards')}/`)).toEqual({
      parquet: join(folder, 'shards/*.parquet'),
    })
    for (const name of ['a.pq', 'b.parquet']) write(`two/${name}`)
    expect(await sourceAt(join(folder, 'two'))).toEqual({
      parquet: [join(folder, 'two/*.pq'), join(folder, 'two/*.parquet')],
    })
    write('samples/1.npz')
    expect(await sourceAt(join(folder, 'samples'))).toEqual({ npz: join(folder, 'samples/*.npz') })
  })

  test('whose subfolders have files of one format is these', async () => {
    for (const name of ['README.md', 'data/train-0.parquet', 'data/test-0.parquet']) write(`download/${name}`)
    expect(await sourceAt(join(folder, 'download'))).toEqual({
      parquet: join(folder, 'download/*/*.parquet'),
    })
  })

  test('with the metadata of an ImageFolder is a list of files', async () => {
    write('hub/1.jpg')
    const list = write('hub/metadata.jsonl', '{"file_name": "1.jpg", "text": "a wren"}\n')
    expect(await sourceAt(join(folder, 'hub'))).toEqual({ files: { list, path: 'file_name' } })
  })

  test('with other files is a folder of images', async () => {
    write('images/cat/state.json', '{}')
    write('images/state.json', '{"no": "dataset"}')
    write('images/cat/1.jpg')
    write('images/dog/features.npy')
    expect(await sourceAt(join(folder, 'images'))).toEqual({ folder: join(folder, 'images') })
  })
})

describe('files whose names say nothing', () => {
  const tfrecord = readFileSync(new URL('../../../../test/golden/tfrecord/plain.tfrecord', import.meta.url))

  test.each([
    ['TFRecord', tfrecord, 'tfrecord'],
    ['Parquet', Buffer.from('PAR1…'), 'parquet'],
    ['Arrow', Buffer.from('ARROW1\0\0'), 'arrow'],
    ['NumPy', Buffer.from('\x93NUMPY\x01\0', 'latin1'), 'npy'],
    ['HDF5', Buffer.from('\x89HDF\r\n\x1a\n', 'latin1'), 'hdf5'],
    ['other bytes', Buffer.from('hello, this is a note'), 'files'],
  ])('are of %s by their first bytes', async (name, bytes, format) => {
    mkdirSync(join(folder, 'bare', name), { recursive: true })
    const file = join(folder, 'bare', name, 'train-00000-of-00001')
    writeFileSync(file, bytes)
    expect(await sourceAt(file)).toEqual({ [format]: file })
    const pattern = join(folder, 'bare', name, 'train-*')
    expect(await sourceAt(pattern)).toEqual({ [format]: pattern })
  })
})
