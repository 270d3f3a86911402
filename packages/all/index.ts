/**
 * Millrace: a data engine that keeps GPUs fed.
 *
 *   import { feed, tar, shuffle, image, int, open } from 'millrace'
 *
 *   const cats = feed({
 *     source: tar('shards/train-{0000..0015}.tar'),
 *     order: shuffle({ seed: 7 }),
 *     fields: { image: image('jpg').randomResizedCrop(224).flip().normalize('imagenet'), label: int('cls') },
 *     batch: 256,
 *   })
 *   for await (const batch of open(cats)) train(batch.image, batch.label)
 *
 * @module
 */
import './registry.js'

import { deviceOpener } from '../core/deliver/node/device.js'

export type { Dtype } from '../core/basics/dtype.js'
export {
  BudgetError,
  ChangedError,
  DecodeError,
  DefinitionError,
  EngineError,
  MillraceError,
  MissingError,
  SampleError,
  SourceError,
  StateError,
} from '../core/basics/errors.js'
export type { Random } from '../core/basics/random.js'
export type { BatchOf } from '../core/define/build/batch-types.js'
export { Feed, feed, fromJson } from '../core/define/build/feed.js'
export {
  boxes,
  bytes,
  category,
  float,
  int,
  json,
  npy,
  points,
  text,
  vector,
} from '../core/define/build/fields.js'
export {
  blend,
  blendList,
  concat,
  kernel,
  megatron,
  sequential,
  shuffle,
  source,
  split,
  subset,
  synthetic,
  weighted,
  zip,
} from '../core/define/build/sources.js'
export type { TokensFeedJson } from '../core/define/token-feed.js'
export type { FeedJson, KernelFeedJson } from '../core/define/types.js'
export { Batch, type Ragged } from '../core/deliver/node/batch.js'
export type { DeviceArray, DeviceRagged } from '../core/deliver/node/device.js'
export type { Loader, LoaderStats } from '../core/deliver/node/loader.js'
export { open } from '../core/deliver/node/open.js'
export type { OpenOptions } from '../core/deliver/options.js'
export type { State } from '../core/order/state.js'
export type { PluginContext, PluginManifest, PluginSourceKind } from '../core/source/plugin-source.js'
export type { Plugin } from '../core/source/plugins.js'
export type { ByteRange, Column, IndexColumn, Manifest, OpenContext, Source } from '../core/source/source.js'
export { type AttachedSpans, attachSpans, type SpanWriter, spanWriters } from '../core/spans/attach.js'
export type { LaneInfo, RingInfo, SpanCursor, SpanRead, SpanRecord } from '../core/spans/reader.js'
export type { Store, StoreKind } from '../core/store/store.js'
export { type CudaKernel, cuda } from '../cuda/cuda.js'
export { CudaError } from '../cuda/driver/index.js'
export { arrow } from '../formats/arrow/format.js'
export { files, folder } from '../formats/files/format.js'
export { hdf5, netcdf4 } from '../formats/hdf5/format.js'
export { csv, jsonl, textLines } from '../formats/lines/format.js'
export { litdata } from '../formats/litdata/format.js'
export { mds } from '../formats/mds/format.js'
export { npyFiles } from '../formats/npy/format.js'
export { npz } from '../formats/npz/format.js'
export { parquet } from '../formats/parquet/format.js'
export { safetensors } from '../formats/safetensors/format.js'
export { tar } from '../formats/tar/format.js'
export { tfrecord } from '../formats/tfrecord/format.js'
export { zarr } from '../formats/zarr/format.js'
export { chat } from '../llm/conversations/format.js'
export { tokens } from '../llm/tokens/format.js'
export { diagnoseFeed, diagnoseLive, explainDiagnosis } from '../observe/diagnose/api.js'
export type { DiagnoseLiveOptions } from '../observe/diagnose/attach/live.js'
export type { DiagnoseFeedOptions } from '../observe/diagnose/feed.js'
export type { Findings } from '../observe/diagnose/findings.js'
export type { Accounting, Diagnosis, Evidence } from '../observe/evidence.js'
export type { RunRecord, TunerDecision } from '../observe/live/record.js'
export type { Watched } from '../observe/live/watcher.js'
export type { LogHeader } from '../observe/log/lines.js'
export {
  alignRanks,
  type LoggedMoment,
  type LoggedRank,
  type LoggedRun,
  readRunLog,
} from '../observe/log/read.js'
export { type Exposed, prometheus } from '../observe/metrics/prometheus.js'
export { cutmix, image, mask, mixup, mosaic } from '../pixels/build.js'

// Loaded by the first feed that has a device: a program without a GPU starts sooner without it.
deviceOpener(async (choice, feed, notice) => {
  const { DeviceRun } = await import('../cuda/device/device-run.js')
  return DeviceRun.open(choice, feed, { notice })
})
