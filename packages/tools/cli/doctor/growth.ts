/** Whether the memory of a process grows: a line through what it had, look by look. */
import { HostSampler } from '../../../observe/host/sampler.js'
import { bytes, duration } from '../units.js'
import type { Finding } from './check.js'

export interface MemoryPoint {
  seconds: number
  bytes: number
}

export interface Growth {
  bytesPerSecond: number
  /** 95 % interval. */
  interval: [number, number]
}

const LOOKS = 40
/** Growth of less than this share of the memory an hour is none. */
const LEAST_AN_HOUR = 0.05
/** Growth that reaches the limit later than this (s) is fine. */
const SOON = 24 * 3600

/** Looks at a process, and all below it, for some seconds. */
export async function watchMemory(
  pid: number,
  seconds: number,
  onLook?: (done: number, of: number) => void,
): Promise<{ points: MemoryPoint[]; limit: number | null }> {
  const host = new HostSampler({ engine: pid, trainer: pid, gpu: false })
  const points: MemoryPoint[] = []
  let limit: number | null = null
  for (let i = 0; i <= LOOKS; i++) {
    if (i > 0) await new Promise(resolve => setTimeout(resolve, (seconds * 1000) / LOOKS))
    const look = host.look()
    if (look.ownBytes === 0) break // it has ended
    limit = look.memoryLimitBytes
    points.push({ seconds: look.at / 1000, bytes: look.ownBytes })
    onLook?.(i, LOOKS)
  }
  host.close()
  return { points, limit }
}

/** Slope by least squares; neighbours of a series are alike, so the interval is taken twice as wide as for chance alone. */
export function growthOf(points: readonly MemoryPoint[]): Growth | undefined {
  const n = points.length
  if (n < 5) return undefined
  const mean = (of: (point: MemoryPoint) => number) => points.reduce((sum, point) => sum + of(point), 0) / n
  const [at, level] = [mean(point => point.seconds), mean(point => point.bytes)]
  const spread = points.reduce((sum, point) => sum + (point.seconds - at) ** 2, 0)
  if (spread === 0) return undefined
  const slope = points.reduce((sum, point) => sum + (point.seconds - at) * (point.bytes - level), 0) / spread
  const rest = points.reduce(
    (sum, point) => sum + (point.bytes - level - slope * (point.seconds - at)) ** 2,
    0,
  )
  const wide = 2 * 2 * Math.sqrt(rest / (n - 2) / spread)
  return { bytesPerSecond: slope, interval: [slope - wide, slope + wide] }
}

export function growthFinding(pid: number, points: readonly MemoryPoint[], limit: number | null): Finding {
  const what = 'memory growth'
  const last = points.at(-1)
  if (last === undefined) {
    const todo = 'give the number of a process that runs (ps, nvidia-smi)'
    return { what, verdict: 'bad', is: `there is no process ${pid}, or it is not yours to look into`, todo }
  }
  const growth = growthOf(points)
  if (growth === undefined)
    return { what, verdict: 'warn', is: `process ${pid} ended too soon: ${points.length} looks` }
  const { bytesPerSecond, interval } = growth
  const seconds = last.seconds - points[0].seconds
  const data = { pid, bytes: last.bytes, bytesPerSecond, interval, seconds, limit }
  const has = `process ${pid} and those below it have ${bytes(last.bytes)} of their own`
  const grows = interval[0] > 0 && bytesPerSecond * 3600 >= LEAST_AN_HOUR * last.bytes
  if (!grows) return { what, verdict: 'ok', is: `${has}; no growth in ${duration(seconds)}`, data }
  const rate = `growing by ${bytes(bytesPerSecond * 60)} a minute (${bytes(interval[0] * 60)} to ${bytes(interval[1] * 60)})`
  const left = limit === null ? null : (limit - last.bytes) / bytesPerSecond
  if (left !== null && left > SOON)
    return {
      what,
      verdict: 'ok',
      is: `${has}, ${rate}, far from the limit of ${bytes(limit as number)}`,
      data,
    }
  const ends = left === null ? '' : `, at the limit of ${bytes(limit as number)} in ${duration(left)}`
  const todo =
    'look again for longer (--seconds 300): a process that starts grows for a while. If it goes on, look for lists that keep tensors, and for growing copies of Python objects in workers of a DataLoader'
  return { what, verdict: 'warn', is: `${has}, ${rate}${ends}`, todo, data }
}
