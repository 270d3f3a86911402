/** HDF5 files fulfil the contract of all sources. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { slowStore } from '../../../../test/support/slow-store.mjs'
import { addStore } from '../../../core/store/stores.js'
import { conforms } from '../../../core/test/source/conformance.js'
import { GOLDEN } from './support.js'

const write =
  (...names: string[]) =>
  (root: string) => {
    for (const name of names) copyFileSync(join(GOLDEN, name), join(root, name))
  }
/** The same name with other data. */
const change = (to: string, name: string) => (root: string) =>
  copyFileSync(join(GOLDEN, to), join(root, name))

conforms({
  name: 'hdf5, rows of an axis',
  json: { hdf5: { path: 'weather.nc' } },
  wanted: ['t2m', 'wind'],
  write: write('weather.nc'),
  change: change('user-block.h5', 'weather.nc'),
  count: 8,
  first: {},
})

conforms({
  name: 'hdf5, tables and texts',
  json: { netcdf4: { path: 'types.h5', datasets: { t: 'table', s: 'varying', n: 'scalar/be_i8' } } },
  wanted: ['t.in.deep', 't.name', 's', 'n'],
  write: write('types.h5'),
  count: 6,
  first: { 't.in.deep': String(2n ** 60n), 't.name': 'n0', s: '' },
})

conforms({
  name: 'hdf5, groups',
  json: {
    hdf5: { path: '*.h5', datasets: { name: 'data/*/name', image: 'data/*/obs/img' }, rows: 'groups' },
  },
  wanted: ['name', 'image'],
  write: write('groups-latest.h5', 'groups-earliest.h5'),
  change: change('groups-latest.h5', 'groups-more.h5'),
  count: 24,
  first: { name: 'demo number 0' },
})

conforms({
  name: 'hdf5, rows of groups',
  json: { hdf5: { path: '*.h5', datasets: { action: 'data/*/action', image: 'data/*/obs/img' } } },
  wanted: ['action', 'image'],
  write: write('groups-latest.h5', 'groups-earliest.h5'),
  change: change('groups-latest.h5', 'groups-more.h5'),
  count: 60,
  first: {},
})

const far = temporaryFolder()
addStore('far', slowStore({ folder: far, scheme: 'far', latency: 1, errors: 0 }))
conforms({
  name: 'hdf5 in a slow store',
  json: folder => ({ hdf5: `far://${folder}/weather.nc` }),
  store: { scheme: 'far', folder: far },
  wanted: ['t2m', 'wind'],
  write: write('weather.nc'),
  change: change('user-block.h5', 'weather.nc'),
  count: 8,
  first: {},
})
