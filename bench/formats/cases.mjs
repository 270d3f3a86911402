// What is compared: for each case the feed, its unit, the part of the data that it reads (make.py), what rivals in Python do (rivals.py has a
// function for each name), and the bars.
import { join } from 'node:path'

const MB = { 18: 2 * 1500 * 1500 * 4, 147: 36 * 1010 * 1010 * 4 }
const SHAPE = { 18: [2, 1500, 1500], 147: [36, 1010, 1010] }

/** One volume a batch, in any order. */
const volume = (source, size) => ({
  part: 'volumes',
  unit: 'MB/s',
  each: MB[size] / 1e6,
  options: { depth: 2, warm: 2 },
  feed: {
    source,
    order: { shuffle: 'global', seed: 1 },
    fields: { data: { from: 'data', as: 'npy', shape: SHAPE[size], dtype: 'f32' } },
    batch: 1,
  },
})

const rows = (part, source, fields, batch, order, warm = 100) => ({
  part,
  unit: 'rows/s',
  each: 1,
  // Code is compiled while it runs: what is slow until then is left out.
  options: { depth: 4, warm },
  feed: { source, order, fields, batch },
})
const window = { shuffle: { window: 20_000 }, seed: 1 }
const texts = (source, order = window) =>
  rows(
    'texts',
    source,
    { text: { from: 'text', as: 'text', ragged: { max: 2000, total: 300_000 } } },
    256,
    order,
  )
const lists = source =>
  rows('lists', source, { tokens: { from: 'tokens', as: 'npy', shape: [1024], dtype: 'i32' } }, 256, window)
const pictures = source =>
  rows(
    'pictures',
    source,
    {
      image: {
        from: 'jpg',
        as: 'image',
        apply: [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }],
      },
      label: { from: 'cls', as: 'int' },
    },
    256,
    { shuffle: { window: 2000 }, seed: 1 },
    20,
  )

/** Bars are ratios to the rival: `least` of its rate; undefined: there is none. A rival may be another case. */
export function cases(folder, shards) {
  const at = name => join(folder, name)
  const found = {}
  for (const size of ['18', '147']) {
    found[`npy ${size} MB`] = {
      ...volume({ npy: at(`volumes/npy-${size}/*.npy`) }, size),
      rivals: { 'DataLoader, np.load': 2, 'plain read': 0.8 },
    }
    found[`npz ${size} MB, stored`] = {
      ...volume({ npz: at(`volumes/npz-${size}/*.npz`) }, size),
      rivals: { 'DataLoader, np.load of npz': 2, 'plain read': 0.8 },
    }
    found[`HDF5 ${size} MB, contiguous`] = {
      ...volume({ hdf5: { path: at(`volumes/plain-${size}.h5`), datasets: { data: '/data' } } }, size),
      rivals: { 'DataLoader, h5py d[i]': 2, 'DataLoader, h5py read_direct': undefined, 'plain read': 0.8 },
    }
  }
  found['npz 18 MB, deflated'] = {
    ...volume({ npz: at('volumes/npz-deflate-18/*.npz') }, '18'),
    rivals: { 'DataLoader, np.load of npz': 2 },
  }
  for (const [kind, bar] of [
    ['gzip', 2],
    ['gzip-shuffle', 1.5],
  ]) {
    const many = volume({ hdf5: { path: at(`volumes/${kind}-18.h5`), datasets: { data: '/data' } } }, '18')
    found[`HDF5 18 MB, ${kind}`] = { ...many, rivals: { 'DataLoader, h5py d[i]': bar } }
    found[`HDF5 18 MB, ${kind}, one thread`] = {
      ...many,
      options: { ...many.options, workers: 1 },
      rivals: { 'h5py d[i], one process': bar },
    }
  }
  for (const kind of ['zstd', 'sharded', 'blosc']) {
    found[`Zarr 18 MB, ${kind}`] = {
      ...volume({ zarr: at(`volumes/${kind}-18.zarr`) }, '18'),
      rivals: { 'DataLoader, zarr-python': 1 },
    }
  }
  for (const codec of ['zstd', 'snappy']) {
    found[`Parquet text, ${codec}`] = {
      ...texts({ parquet: at(`texts/${codec}-*.parquet`) }),
      rivals: { 'Hugging Face streaming': 7 },
    }
  }
  const arrow = { arrow: at('texts/arrow') }
  found['Arrow text, any order'] = {
    ...texts(arrow, { shuffle: 'global', seed: 1 }),
    rivals: { 'DataLoader, datasets d[i]': undefined },
  }
  found['Arrow text, window'] = { ...texts(arrow), rivals: { 'Hugging Face streaming': undefined } }
  found['JSONL text'] = {
    ...texts({ jsonl: at('texts/*.jsonl') }),
    rivals: { 'Hugging Face streaming': undefined, 'pandas, one process': undefined },
  }
  found['CSV text'] = {
    ...texts({ csv: at('texts/*.csv') }),
    rivals: { 'Hugging Face streaming': undefined, 'pandas, one process': undefined },
  }
  found['Parquet lists'] = {
    ...lists({ parquet: at('lists/lists.parquet') }),
    rivals: { 'pyarrow, one thread': 0.7 },
  }
  found['MDS lists'] = {
    ...lists({ mds: at('lists/mds') }),
    rivals: { 'DataLoader, StreamingDataset': undefined },
  }
  found['LitData lists'] = {
    ...lists({ litdata: { path: at('lists/litdata'), block: 1024 } }),
    rivals: { 'StreamingDataLoader of LitData': undefined },
  }
  found['JPEG in tar'] = { ...pictures({ tar: shards }), rivals: {} }
  found['JPEG in Parquet'] = {
    ...pictures({ parquet: at('pictures/pictures.parquet') }),
    rivals: { 'JPEG in tar': 0.95 },
  }
  found['JPEG in TFRecord, CRC checked'] = {
    ...pictures({ tfrecord: at('pictures/pictures.tfrecord') }),
    rivals: { 'JPEG in tar': 0.95 },
  }
  return found
}
