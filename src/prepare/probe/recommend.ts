/** What a probe's figures mean, in plain words. Pure. */
import { type Measure, type MeasureName, type Probed, type Speed, telling } from './speed.js'

const KIB = 1024
const MIB = 1024 * KIB
/** Files of a data set that are smaller cost more to open than to read. */
const SMALL = 256 * KIB
/** Packing pays where reading whole small files gives less than this share of what reading in one go gives. */
const PACK = 0.5
/** More reads in flight matter from this gain on; below the other, they don't. */
const GAINS = 1.5
const GAINS_NOT = 1.1
/** 32 reads in flight that give so many times of what one gives mostly wait, each for an answer from afar. */
const FAR = 16

export interface Advice {
  path: string
  /** The figures that count. */
  summary: string
  advice: string[]
}

function find(probed: Probed, what: MeasureName, inFlight = 1, bytes?: number): Measure | undefined {
  return probed.measures.find(
    measure =>
      measure.what === what &&
      measure.inFlight === inFlight &&
      (bytes === undefined || measure.bytes === bytes),
  )
}

export function recommend(probed: Probed, freeBytes = 0): Advice {
  const sequential = telling(find(probed, 'sequential'))
  const small = telling(find(probed, 'small files'))
  const many = telling(find(probed, 'random', 8, 128 * KIB))
  const figures = [
    sequential && `${megabytes(sequential.speed)} sequential${mark(sequential.place)}`,
    many && `${megabytes(many.speed)} in random reads of 128 KiB, 8 in flight${mark(many.place)}`,
    small && `${milliseconds(small.speed.ms)} a small file${mark(small.place)}`,
  ].filter(figure => figure !== undefined)
  return {
    path: probed.path,
    summary: `${probed.path} (${probed.fileSystem}): ${figures.join(', ') || 'nothing could be measured'}`,
    advice: [packing(probed), flights(probed), memory(probed, freeBytes), certainty(probed)].filter(
      text => text !== undefined,
    ),
  }
}

/** Small files against reading in one go: of one place, or small ones from memory, which are slower still from the storage. */
function packing(probed: Probed): string | undefined {
  if (probed.medianBytes > SMALL || probed.files < 2) return undefined
  const command = `pack into shards: millrace pack ${quoted(probed.path)} --out shards`
  const small = telling(find(probed, 'small files', 8)) ?? telling(find(probed, 'small files'))
  const large = telling(find(probed, 'sequential')) ?? telling(find(probed, 'random', 8, MIB))
  if (small === undefined) return undefined
  const each = `half of its files are smaller than ${kibibytes(probed.medianBytes)}`
  if (large === undefined && !probed.far)
    return `${each}, and none is large enough to compare with: --write measures what packing them would gain`
  if (large === undefined || (large.place !== small.place && small.place !== 'warm'))
    return probed.far ? `${each}, and each is asked for over the network: ${command}` : undefined
  const share = small.speed.bytesPerSecond / large.speed.bytesPerSecond
  if (share >= PACK) return undefined
  const even = large.place === small.place ? '' : ', even from memory,'
  return `${each}, and reading them one by one${even} gives ${Math.max(1, Math.round(share * 100))} % of what large reads give: ${command}`
}

/** Whether more reads in flight gain, from cold reads alone: of the page cache it says nothing about the storage. */
function flights(probed: Probed): string | undefined {
  const [one, eight, most] = [1, 8, 32].map(n => {
    const measure = find(probed, 'random', n, 128 * KIB)
    return measure?.cold ?? measure?.unknown ?? undefined
  })
  if (one === undefined || eight === undefined) return undefined
  const gain = eight.bytesPerSecond / one.bytesPerSecond
  if (most === undefined) {
    if (gain < GAINS) return undefined
    return `8 reads in flight give ${times(gain)} of what one gives: take 8 workers or more; whether more gain, there was too little data to say`
  }
  const further = most.bytesPerSecond / eight.bytesPerSecond
  if (further >= GAINS) {
    const why = gain * further >= FAR ? 'it is far away rather than slow; ' : ''
    return `32 reads in flight give ${times(further)} of what 8 give: ${why}take many workers (--workers 16 or more)`
  }
  if (gain >= GAINS)
    return `8 reads in flight give ${times(gain)} of what one gives, and more give little: 8 workers are enough for reading`
  if (gain < GAINS_NOT)
    return 'more reads in flight gain nothing: its bandwidth is used up by one; more workers will not read faster'
  return undefined
}

function memory({ bytes, more, measures }: Probed, freeBytes: number): string | undefined {
  const cold = measures.some(measure => measure.cold !== null)
  if (more || bytes === 0 || bytes > freeBytes || !cold) return undefined
  return 'it fits into free memory: the first epoch reads at the speed of the storage, later ones from the page cache'
}

function certainty({ measures }: Probed): string | undefined {
  const reads = measures.filter(({ what }) => what !== 'stat' && what !== 'list')
  if (reads.some(measure => measure.cold !== null)) return undefined
  if (reads.some(measure => measure.unknown !== null))
    return 'the system does not say which bytes were in memory: figures may be of the page cache'
  if (reads.every(measure => measure.warm === null)) return undefined
  return 'all that was read was in the page cache: this is the speed of memory, and of later epochs, not of the storage; give a path that was not read lately, or --write'
}

/** Which of several is the fastest, by the first measure that all have of one place. */
export function compare(all: readonly Probed[]): string | undefined {
  if (all.length < 2) return undefined
  const measures = [
    ['random', 8, 128 * KIB],
    ['sequential', 1, MIB],
    ['small files', 8, undefined],
    ['small files', 1, undefined],
  ] as const
  for (const place of ['cold', 'unknown', 'warm'] as const) {
    for (const [what, inFlight, bytes] of measures) {
      const speeds = all.flatMap(probed => {
        const speed = find(probed, what, inFlight, bytes)?.[place]
        return speed ? [{ path: probed.path, rate: speed.bytesPerSecond }] : []
      })
      if (speeds.length < all.length) continue
      const [first, second] = speeds.sort((a, b) => b.rate - a.rate)
      const by = what === 'small files' ? what : `${what} reads`
      if (first.rate < GAINS_NOT * second.rate)
        return `${first.path} and ${second.path} are about equally fast (${by}${mark(place)})`
      return `${first.path} is the fastest: ${times(first.rate / second.rate)} of ${second.path} (${by}${mark(place)})`
    }
  }
  return 'the paths can not be compared: one was read from the storage, another from the page cache'
}

function mark(place: 'cold' | 'warm' | 'unknown'): string {
  return place === 'cold' ? '' : place === 'warm' ? ' (from the page cache)' : ' (cold or not is unknown)'
}

function megabytes({ bytesPerSecond }: Speed): string {
  const mb = bytesPerSecond / 1e6
  return `${mb < 9.95 ? mb.toFixed(1) : Math.round(mb)} MB/s`
}

function milliseconds(ms: number): string {
  return ms < 0.1 ? `${Math.round(ms * 1000)} µs` : `${ms < 9.95 ? ms.toFixed(1) : Math.round(ms)} ms`
}

function kibibytes(bytes: number): string {
  return `${Math.max(1, Math.ceil(bytes / KIB))} KiB`
}

function times(factor: number): string {
  return `${factor.toFixed(1)} times`
}

function quoted(path: string): string {
  return /^[\w./@%+:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
