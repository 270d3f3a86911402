// What is compared: for each case the feed, its unit, what a rival in Python does (rivals.py has a function of that name), and the bar.
import { join } from 'node:path'

const MB = { 18: 2 * 1500 * 1500 * 4, 147: 36 * 1010 * 1010 * 4 }
const SHAPE = { 18: [2, 1500, 1500], 147: [36, 1010, 1010] }

/** One volume a batch, in any order. */
const volume = (source, size) => ({
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

const rows = (source, fields, batch, order) => ({
  unit: 'rows/s',
  each: 1,
  // Code is compiled while it runs: what is slow until then is left out.
  options: { depth: 4, warm: batch === 1 ? 2 : 100 },
  feed: { source, order, fields, batch },
})
const window = { shuffle: { window: 20_000 }, seed: 1 }
const texts = source =>
  rows(source, { text: { from: 'text', as: 'text', ragged: { max: 2000, total: 300_000 } } }, 256, window)
const pictures = source =>
  rows(
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
  )

/** Bars are ratios to the rival: `least` of its rate. */
export function cases(folder, shards) {
  const at = name => join(folder, name)
  const found = {}
  for (const size of ['18', '147']) {
    found[`npy ${size} MB`] = {
      ...volume({ npy: at(`npy-${size}/*.npy`) }, size),
      rivals: { 'DataLoader, np.load': 2, 'plain read': 0.8 },
    }
    found[`npz ${size} MB, stored`] = {
      ...volume({ npz: at(`npz-${size}/*.npz`) }, size),
      rivals: { 'DataLoader, np.load of npz': 2, 'plain read': 0.8 },
    }
    found[`HDF5 ${size} MB, contiguous`] = {
      ...volume({ hdf5: { path: at(`plain-${size}.h5`), datasets: { data: '/data' } } }, size),
      rivals: { 'DataLoader, h5py d[i]': 2, 'DataLoader, h5py read_direct': undefined, 'plain read': 0.8 },
    }
  }
  found['npz 18 MB, deflated'] = {
    ...volume({ npz: at('npz-deflate-18/*.npz') }, '18'),
    rivals: { 'DataLoader, np.load of npz': 2 },
  }
  for (const [kind, bar] of [
    ['gzip', 2],
    ['gzip-shuffle', 1.5],
  ]) {
    found[`HDF5 18 MB, ${kind}`] = {
      ...volume({ hdf5: { path: at(`${kind}-18.h5`), datasets: { data: '/data' } } }, '18'),
      rivals: { 'DataLoader, h5py d[i]': bar },
    }
  }
  for (const kind of ['zstd', 'sharded', 'blosc']) {
    found[`Zarr 18 MB, ${kind}`] = {
      ...volume({ zarr: at(`${kind}-18.zarr`) }, '18'),
      rivals: { 'DataLoader, zarr-python': 1 },
    }
  }
  for (const codec of ['zstd', 'snappy']) {
    found[`Parquet text, ${codec}`] = {
      ...texts({ parquet: at(`text-${codec}.parquet`) }),
      rivals: { 'Hugging Face streaming': 7 },
    }
  }
  found['Parquet lists'] = {
    ...rows(
      { parquet: at('lists.parquet') },
      { tokens: { from: 'tokens', as: 'npy', shape: [1024], dtype: 'i32' } },
      256,
      window,
    ),
    rivals: { 'pyarrow, one thread': 0.7 },
  }
  found['JPEG in tar'] = { ...pictures({ tar: shards }), rivals: {} }
  found['JPEG in Parquet'] = {
    ...pictures({ parquet: at('pictures.parquet') }),
    rivals: { 'JPEG in tar': 0.95 },
  }
  found['JPEG in TFRecord, CRC checked'] = {
    ...pictures({ tfrecord: at('pictures.tfrecord') }),
    rivals: { 'JPEG in tar': 0.95 },
  }
  return found
}
