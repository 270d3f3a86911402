/** The last hour of a run: a point a second, and fewer of them for a page. */
import type { Parts } from '../../evidence.js'
import type { RunRecord } from '../../live/record.js'
import type { HistoryPoint } from '../view.js'

/** How far it goes back (ms), and how many points a page is told. */
const LENGTH = 3_600_000
const TOLD = 900

export class History {
  private points: HistoryPoint[] = []

  /** A second that is there already, or before it, is not added. */
  add(point: HistoryPoint): void {
    if (point.time <= (this.points.at(-1)?.time ?? Number.NEGATIVE_INFINITY)) return
    this.points.push(point)
    // Not at every point: moving them all would be work.
    if (this.points[0].time < point.time - 1.1 * LENGTH) this.cut(point.time)
  }

  /** Forgets what was, and begins with these. */
  begin(points: readonly HistoryPoint[]): void {
    this.points = [...points]
  }

  /** Means of some seconds each, so that there are not too many. */
  told(): HistoryPoint[] {
    // Of a run that has ended, its last hour.
    this.cut(this.points.at(-1)?.time ?? 0)
    const each = Math.ceil(this.points.length / TOLD)
    if (each <= 1) return [...this.points]
    return Array.from({ length: Math.ceil(this.points.length / each) }, (_, i) =>
      meanOf(this.points.slice(i * each, (i + 1) * each)),
    )
  }

  private cut(now: number): void {
    const first = this.points.findIndex(({ time }) => time >= now - LENGTH)
    if (first !== 0) this.points = first < 0 ? [] : this.points.slice(first)
  }
}

/** A second of all ranks: the one that loses most decides. */
export function pointOf(records: readonly RunRecord[]): HistoryPoint {
  const worst = worstOf(records)
  return {
    time: Math.max(...records.map(({ time }) => time)),
    lost: worst.lost,
    samplesPerSecond: samplesPerSecond(records),
    parts: worst.parts,
    workers: worst.workers,
    depth: worst.depth,
    decisions: records.flatMap(({ decisions }) => decisions),
  }
}

export function samplesPerSecond(records: readonly RunRecord[]): number {
  return records.reduce((sum, { samples, seconds }) => sum + samples / Math.max(seconds, 1e-3), 0)
}

function worstOf(records: readonly RunRecord[]): RunRecord {
  return records.reduce((worst, one) => ((one.lost ?? -1) > (worst.lost ?? -1) ? one : worst))
}

function meanOf(points: readonly HistoryPoint[]): HistoryPoint {
  const last = points[points.length - 1]
  const mean = (list: readonly (number | null)[]): number | null => {
    const known = list.filter(value => value !== null)
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
  }
  return {
    ...last,
    lost: mean(points.map(({ lost }) => lost)),
    samplesPerSecond: mean(points.map(({ samplesPerSecond }) => samplesPerSecond)) ?? 0,
    parts: meanParts(points.flatMap(({ parts }) => (parts === null ? [] : [parts]))),
    decisions: points.flatMap(({ decisions }) => decisions),
  }
}

function meanParts(list: readonly Parts[]): Parts | null {
  if (list.length === 0) return null
  const names = Object.keys(list[0]) as (keyof Parts)[]
  const sum = (name: keyof Parts) => list.reduce((all, parts) => all + parts[name], 0)
  return Object.fromEntries(names.map(name => [name, sum(name) / list.length])) as unknown as Parts
}
