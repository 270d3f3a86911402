/**
 * Contracts for sources and stores of your own, which every thread loads (docs/extend.md).
 *
 *   import { type Plugin, SourceError } from 'millrace/plugin'
 *
 *   export default { sources: { records: { open, attach } } } satisfies Plugin
 *
 * @module
 */
export { DecodeError, MillraceError, SampleError, SourceError } from '../core/basics/errors.js'
export type { PluginContext, PluginManifest, PluginSourceKind } from '../core/source/plugin-source.js'
export type { Plugin } from '../core/source/plugins.js'
export type { ByteRange, Column, IndexColumn, Manifest, OpenContext, Source } from '../core/source/source.js'
export type { Store, StoreKind } from '../core/store/store.js'
