/**
 * Who makes each field of a feed: the workers, or the device of the process that takes the batches. This is decided here,
 * once, from the definition and the options. What workers leave in the slot, how it lies there and what the device does
 * with it follow from that; the definition stays as it is.
 */

import { DefinitionError } from '../../basics/errors.js'
import { layoutSlot, QUICK_CHUNK_BYTES, type SlotLayout } from '../../batch/layout.js'
import { generatedLayout } from '../../define/check/kernel.js'
import { decoderOf } from '../../define/kind.js'
import { BY_WORKER, type DeviceKind, type FieldMaking, type SlotField } from '../../define/making.js'
import type { FieldLayout, NormalFeed, NormalField } from '../../define/types.js'
import { batchSize } from '../../order/steps.js'
import type { Fingerprint, Source } from '../../source/source.js'
import { Fetcher } from '../fetch/fetch.js'
import { canGenerateField } from './generate.js'
import type { FeedPlan } from './plan.js'
import { cutLayouts, type Sequence } from './sequence.js'

/** Who makes what. */
export interface MakingOptions {
  world: number
  /** Who decodes images: the workers, or the device of the process that takes the batches. */
  decode: 'cpu' | 'gpu'
  /** With `gpu`: the device has nvCOMP. */
  nvcomp?: boolean
  /** With `gpu`: the share of images that workers decode all the same, 0…1. */
  cpuShare?: number
  /** Which part of its rows this process gets. */
  sequence?: Sequence
  /** Images have their channels last in memory, whatever the definition says. */
  channelsLast?: boolean
}

/** What is made of a feed: rows of a batch on one rank, who makes each field, and the layout of a slot. */
export interface Making {
  batch: number
  /** In the order of the feed's fields. */
  fields: FieldMaking[]
  layout: SlotLayout
}

export function planMaking(plan: FeedPlan, options: MakingOptions): Making {
  const { feed, parts = [] } = plan
  const batch = plan.rows ?? batchSize(feed.batch, options.world)
  if (options.decode === 'cpu') refuseOnHost(feed)
  const fields = whoMakes(plan, options)
  const layouts = feed.fields.map((field, i): SlotField => {
    const making = fields[i]
    const layout = inBins(options.channelsLast ? withChannelsLast(field) : field.layout, feed)
    if (making.by === 'worker') return layout
    if (making.kind === 'generated') return generatedLayout(layout)
    const facts = { rows: batch, meanBytes: meanBytes(parts) }
    return decoderOf(field).device!.layout({ ...field, layout }, feed, facts)
  })
  const { sequence } = options
  const cut = sequence === undefined || sequence.world === 1 ? layouts : cutLayouts(feed, sequence, layouts)
  const quick = plan.attached.every(source => source.tokenRows !== undefined)
  return { batch, fields, layout: layoutSlot(cut, batch, quick ? QUICK_CHUNK_BYTES : undefined) }
}

/**
 * With `gpu`, images are left to the device: workers choose the steps, and carry the compressed bytes. So are compressed
 * arrays, where the device has nvCOMP. What is generated there leaves nothing to make.
 */
function whoMakes(
  { feed, attached }: FeedPlan,
  { decode, nvcomp = false, cpuShare = 0 }: MakingOptions,
): FieldMaking[] {
  if (decode === 'cpu') return feed.fields.map(() => BY_WORKER)
  const common = commonSamplings(feed, attached)
  return feed.fields.map(field => {
    const kind = deviceKind(field, feed)
    if (kind === undefined || (kind === 'compressed' && !nvcomp)) return BY_WORKER
    if (kind !== 'picture') return { by: 'device', kind }
    const samplings = common.get(field.name)
    return { by: 'device', kind, cpuShare, ...(samplings && { samplings }) }
  })
}

/** What a device makes of a field, if it is asked to: undefined where only workers can make it. */
function deviceKind(field: NormalField, feed: NormalFeed): DeviceKind | undefined {
  if (canGenerateField(field, feed)) return 'generated'
  const { device } = decoderOf(field)
  return device?.staysOnCpu(field, feed) === undefined ? device?.kind : undefined
}

/** Names of the fields of which a device could make this. */
export function fieldsForDevice(feed: NormalFeed, kind: DeviceKind): string[] {
  return feed.fields.filter(field => deviceKind(field, feed) === kind).map(field => field.name)
}

/** Where a feed is made before anything is measured: on the device only what can't be made elsewhere. */
export function decodeOf(feed: NormalFeed, wanted: 'cpu' | 'gpu' | 'auto'): 'cpu' | 'gpu' {
  if (wanted !== 'auto') return wanted
  return onlyOnDevice(feed).length > 0 ? 'gpu' : 'cpu'
}

/** Refuses a feed that can't be made on the CPU. */
function refuseOnHost(feed: NormalFeed): void {
  const names = onlyOnDevice(feed)
  if (names.length === 0) return
  throw new DefinitionError(
    '',
    `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} generated on the GPU: open it with device="cuda"`,
  )
}

/** Fields that the definition has a kernel make. */
function onlyOnDevice(feed: NormalFeed): string[] {
  return feed.fields.filter(({ layout }) => layout.device !== undefined).map(field => field.name)
}

/** Images whose memory `channelsLast` changes: those that would have their channels first. */
export function isChwImage({ layout }: NormalField): boolean {
  return layout.form === 'dense' && layout.layout === 'chw' && layout.shape.length === 3
}

function withChannelsLast(field: NormalField): FieldLayout {
  if (!isChwImage(field)) return field.layout
  const [channels, height, width] = field.layout.shape
  return { ...field.layout, layout: 'hwc', shape: [height, width, channels] }
}

/** A batch by tokens has no more values than these, however many rows it has. */
function inBins(layout: FieldLayout, { batch: { bins } }: NormalFeed): FieldLayout {
  if (bins === undefined || bins.field !== layout.name || layout.form === 'padded') return layout
  return { ...layout, total: Math.min(layout.total ?? Infinity, Math.max(bins.tokens, layout.max ?? 0)) }
}

/** Bytes of a sample on average, where the source knows. */
function meanBytes(parts: NonNullable<Fingerprint['parts']>): number | undefined {
  const count = parts.reduce((sum, part) => sum + part.count, 0)
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  return bytes > 0 && count > 0 ? Math.ceil(bytes / count) : undefined
}

/** Pictures that `commonSamplings` reads, over all sources. */
const SAMPLED_PICTURES = 32
/** A sampling that this share of them has is common. */
const COMMON_SHARE = 1 / 8

/**
 * By field: the chroma samplings of JPEGs that a device gets, those that are common in the data. nvJPEG decodes each sampling by a
 * call of its own, and every call costs the trainer, however few pictures it has: on an H200, 4 % of 4:4:4 among 4:2:0 cost
 * ResNet-18 4 % of its speed, while a few more pictures cost the makers nothing that it noticed.
 *
 * The same pictures are read every time, so that a run can be repeated. A field whose pictures can't be read is not in the map.
 */
function commonSamplings(feed: NormalFeed, sources: readonly Source[]): Map<string, number[]> {
  const found = new Map<string, number[]>()
  const images = feed.fields.filter(field => {
    const { device } = decoderOf(field)
    return device?.variety !== undefined && device.staysOnCpu(field, feed) === undefined
  })
  // A function, or a process, would have to run.
  if (images.length === 0 || feed.map !== undefined || sources.some(source => source.enqueueRow)) return found
  const rows = sources.flatMap((source, i) =>
    spread(source.count, sources.length).map(row => [i, row] as const),
  )
  for (const field of images) {
    const { name, from } = field
    const variety = decoderOf(field).device!.variety!
    const samplings = rows.map(([source, row]) => samplingOf(sources[source], row, from, variety))
    const known = samplings.filter(sampling => sampling !== undefined)
    const common = [...new Set(known)].filter(
      sampling => known.filter(one => one === sampling).length >= COMMON_SHARE * known.length,
    )
    if (known.length > 0) found.set(name, common)
  }
  return found
}

/** Rows all over a source. */
function spread(count: number, sources: number): number[] {
  const looks = Math.min(count, Math.max(1, Math.floor(SAMPLED_PICTURES / sources)))
  return Array.from({ length: looks }, (_, i) => Math.floor(((i + 0.5) * count) / looks))
}

/** The sampling of a picture, where a device could decode it. What is wrong with it is said when it is made. */
function samplingOf(
  source: Source,
  row: number,
  from: readonly string[],
  variety: (bytes: Uint8Array) => number | undefined,
): number | undefined {
  const fetcher = new Fetcher([source], from, 0)
  try {
    // What is far away is not waited for: it is taken to be common.
    if (fetcher.fetch([{ source: 0, row, drawn: 0, epoch: 0 }], 1, 0, () => {}) instanceof Promise)
      return undefined
    const columns = fetcher.sample(0)
    const value = from.map(name => columns[name]).find(column => column !== undefined)
    return value instanceof Uint8Array ? variety(value) : undefined
  } catch {
    return undefined
  } finally {
    fetcher.close()
  }
}
