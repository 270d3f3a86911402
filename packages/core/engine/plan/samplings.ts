/**
 * Which kinds of JPEG a device gets: those whose chroma sampling is common in the data. nvJPEG decodes each sampling by a
 * call of its own, and every call costs the trainer, however few pictures it has: on an H200, 4 % of 4:4:4 among 4:2:0 cost
 * ResNet-18 4 % of its speed, while a few more pictures cost the makers nothing that it noticed.
 *
 * What is common is found by a look at some pictures, the same ones every time, so that a run can be repeated.
 */
import { imageInfo } from '../../../pixels/decode/picture/image.js'
import { staysOnCpu } from '../../../pixels/transform/device/picture.js'
import type { NormalFeed } from '../../define/types.js'
import type { Source } from '../../source/source.js'
import { Fetcher } from '../fetch/fetch.js'

/** Pictures that are looked at, over all sources. */
const LOOKS = 32
/** What this share of them has is common. */
const COMMON = 1 / 8

/** By field: the samplings that the device gets (decode/picture/jpeg-header.ts). A field that can't be looked at is not in it. */
export function commonSamplings(feed: NormalFeed, sources: readonly Source[]): Map<string, number[]> {
  const found = new Map<string, number[]>()
  const images = feed.fields.filter(field => staysOnCpu(field, feed) === undefined)
  // A function, or a process, would have to run.
  if (images.length === 0 || feed.map !== undefined || sources.some(source => source.enqueueRow)) return found
  const rows = sources.flatMap((source, i) =>
    spread(source.count, sources.length).map(row => [i, row] as const),
  )
  for (const { name, from } of images) {
    const samplings = rows.map(([source, row]) => samplingOf(sources[source], row, from))
    const known = samplings.filter(sampling => sampling !== undefined)
    const common = [...new Set(known)].filter(
      sampling => known.filter(one => one === sampling).length >= COMMON * known.length,
    )
    if (known.length > 0) found.set(name, common)
  }
  return found
}

/** Rows all over a source. */
function spread(count: number, sources: number): number[] {
  const looks = Math.min(count, Math.max(1, Math.floor(LOOKS / sources)))
  return Array.from({ length: looks }, (_, i) => Math.floor(((i + 0.5) * count) / looks))
}

/** The sampling of a picture, where a device could decode it. What is wrong with it is said when it is made. */
function samplingOf(source: Source, row: number, from: readonly string[]): number | undefined {
  const fetcher = new Fetcher([source], from, 0)
  try {
    // What is far away is not waited for: it is taken to be common.
    if (fetcher.fetch([{ source: 0, row, drawn: 0, epoch: 0 }], 1, 0, () => {}) instanceof Promise)
      return undefined
    const columns = fetcher.sample(0)
    const value = from.map(name => columns[name]).find(column => column !== undefined)
    return value instanceof Uint8Array ? imageInfo(value).jpeg?.gpu : undefined
  } catch {
    return undefined
  } finally {
    fetcher.close()
  }
}
