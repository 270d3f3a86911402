/** Which share of the rows to come is not in memory: some of the rest of the epoch are asked for. No page is dropped. */
import type { NormalFeed } from '../../core/define/types.js'
import { fillOptions, type OpenOptions } from '../../core/deliver/options.js'
import { openPlan } from '../../core/deliver/start.js'
import type { Place } from '../../core/order/steps.js'
import type { Need } from '../../core/source/source.js'
import { absentShare } from '../../core/system/files/absent.js'
import { memoryLimit } from '../../core/system/process/limits.js'
import type { Facts, Probes } from '../evidence.js'

/** Rows that are asked for. */
const ROWS = 200

export interface Absent {
  probes: Pick<Probes, 'absent'>
  facts: Pick<Facts, 'sourceBytes' | 'freeBytes'>
  /** A local file that some of the rows are in, and the feed's hashes. */
  file?: string
  hashes: { order: string; content: string }
}

/** Looks at rows from `place` to the end of the epoch. Nothing is known of stores that are far away. */
export async function lookForAbsent(feed: NormalFeed, options: OpenOptions, place: Place): Promise<Absent> {
  const { plan } = await openPlan(feed, { ...fillOptions(options), state: undefined, notice: undefined })
  const left = plan.order.length - place.position
  const rows = Math.min(ROWS, left)
  const columns = feed.map === undefined ? [...new Set(feed.fields.flatMap(field => field.from))] : undefined
  const draw = { source: 0, row: 0, drawn: 0, epoch: 0 }
  const need: Need = { ranges: [], units: [] }
  for (let i = 0; i < rows; i++) {
    plan.order.draw(place.epoch, place.position + Math.floor((i * left) / rows), draw)
    const source = plan.attached[draw.source]
    source.need(draw.row, draw.epoch, columns ?? source.columns, need)
  }
  const shared = need.units.flatMap(({ leaf, unit, columns }) => leaf.planUnit(unit, columns))
  const files = [...need.ranges, ...shared].filter(({ file }) => !/^[a-z][\w+.-]+:\/\//i.test(file))
  const ranges = files.map(({ file, offset, length }) => ({ path: file, offset, bytes: length }))
  const found = absentShare(ranges)
  // Rows that share units read them once: then a row's bytes are not those of its unit.
  const own = need.ranges.reduce((sum, { length }) => sum + length, 0)
  const sourceBytes = shared.length === 0 && rows > 0 ? (own / rows) * plan.order.length : undefined
  return {
    probes: found ? { absent: { share: found.share, rows } } : {},
    facts: { freeBytes: memoryLimit().bytes, ...(sourceBytes !== undefined && { sourceBytes }) },
    ...(files.length > 0 && { file: files[0].file }),
    hashes: plan.hashes,
  }
}
