/** A sentence of advice for each measure of a probe, or none, and which of several paths is the fastest. Pure. */
import { KIB, leastBytes, SMALL } from './measures.js'
import type { Measured, Probed, Speed } from './probe.js'

/** Packing pays where small files give less than this share of what large reads give. */
const PACK = 0.5
/** More reads in flight matter from this gain on; below the other, they don't. */
const GAINS = 1.5
const GAINS_NOT = 1.1

export function adviceOf(measure: Measured, probed: Probed, freeBytes: number): string {
  const { what, inFlight, cold, unknown, warm } = measure
  if (cold === null && unknown === null) {
    if (warm !== null) return 'all of it was in the page cache: a figure of memory, not of the storage'
    const small =
      what === 'small files' ? `at most ${SMALL / KIB} KiB` : `${leastBytes(measure) / KIB} KiB or more`
    return `no file of ${small}, or too few of them: --write measures it`
  }
  if (what === 'sequential') return memory(measure, probed, freeBytes)
  if (what === 'small files') return packing(measure, probed)
  return what === 'random' && inFlight > 1 ? flights(measure, probed) : ''
}

function memory({ cold }: Measured, { more, bytes }: Probed, freeBytes: number): string {
  if (more || bytes === 0 || bytes > freeBytes || cold === null) return ''
  return 'the data fit into free memory: epochs after the first read from the page cache'
}

/** What more reads in flight gain, from cold reads: of the page cache it says nothing about the storage. */
function flights(measure: Measured, { measures }: Probed): string {
  const before = measures[measures.indexOf(measure) - 1]
  const [few, many] = [before, measure].map(({ cold, unknown }) => (cold ?? unknown)?.bytesPerSecond)
  if (few === undefined || many === undefined) return ''
  const [gain, than] = [many / few, `what ${before.inFlight} in flight give${before.inFlight > 1 ? '' : 's'}`]
  if (gain >= GAINS)
    return `${gain.toFixed(1)} times of ${than}: take --workers ${measure.inFlight >> 1} or more`
  if (gain >= GAINS_NOT)
    return `little more than ${than}: more than ${before.inFlight} workers gain little by reading`
  return `no more than ${than}: more workers do not read faster`
}

function packing(measure: Measured, { path, files, medianBytes, measures }: Probed): string {
  if (medianBytes > SMALL || files < 2) return ''
  const large = measures.find(({ what, inFlight }) => what === 'random' && inFlight === measure.inFlight)
  for (const place of ['cold', 'unknown'] as const) {
    const [each, whole] = [measure[place], large?.[place]]
    if (!each || !whole) continue
    const share = each.bytesPerSecond / whole.bytesPerSecond
    if (share >= PACK) return ''
    return `${Math.max(1, Math.round(share * 100))} % of what large reads give, and half of the files are smaller than ${Math.ceil(medianBytes / KIB)} KiB: millrace pack ${quoted(path)} --out shards`
  }
  return 'many files are small: --write measures what packing them would gain'
}

/** Which path is the fastest, by the first measure that all have at the same place. */
export function fastest(all: readonly Probed[]): string | undefined {
  if (all.length < 2) return undefined
  for (const place of ['cold', 'unknown', 'warm'] as const) {
    for (const [m, { what }] of all[0].measures.entries()) {
      const speeds = all.flatMap(({ path, measures }) => {
        const speed: Speed | null = measures[m][place]
        return speed && speed.bytesPerSecond > 0 ? [{ path, rate: speed.bytesPerSecond }] : []
      })
      if (speeds.length < all.length) continue
      const [first, second] = speeds.sort((a, b) => b.rate - a.rate)
      const by = `by ${what}, ${place === 'warm' ? 'from the page cache' : place}`
      return first.rate < GAINS_NOT * second.rate
        ? `${first.path} and ${second.path} are about equally fast (${by})`
        : `${first.path} is the fastest: ${(first.rate / second.rate).toFixed(1)} times of ${second.path} (${by})`
    }
  }
  return 'the paths can not be compared: one was read from the storage, another from the page cache'
}

function quoted(path: string): string {
  return /^[\w./@%+:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
