/**
 * HDF5 and netCDF-4 files, as a kind of source. What finds and indexes files (open.ts) is loaded when a feed is opened: workers
 * attach to what was found, and start sooner without it.
 */
import type { Hdf5Json } from '../../core/define/types.js'
import type { SourceKind } from '../../core/source/source.js'
import { type Hdf5Manifest, Hdf5Source } from './hdf5-source.js'

export const hdf5: SourceKind<string | string[] | Hdf5Json> = {
  open: async (json, context) => (await import('./open.js')).openHdf5(json, context),
  attach: manifest => new Hdf5Source(manifest as Hdf5Manifest),
}
