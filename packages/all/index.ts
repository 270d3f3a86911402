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
export { type CudaKernel, cuda } from '../cuda/cuda.js'
export { CudaError } from '../cuda/driver/index.js'
export type { Accounting, Diagnosis } from '../observe/evidence.js'
export type { TunerDecision } from '../observe/live/record.js'
export type { Watched } from '../observe/live/watcher.js'
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
} from '../pixels/build/fields.js'
export { cutmix, image, mask, mixup, mosaic } from '../pixels/build/pictures.js'
export * from './builders.js'

// Loaded by the first feed that has a device: a program without a GPU starts sooner without it.
deviceOpener(async (choice, feed, notice) => {
  const { DeviceRun } = await import('../cuda/device/device-run.js')
  return DeviceRun.open(choice, feed, { notice })
})
