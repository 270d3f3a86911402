/**
 * How many draws each source of a blend has in each block of positions: exact over a *round* of 2^20 positions,
 * and at the end of every block less than one draw away from the ideal, for every source at once.
 *
 * Weights become whole numbers m_i that sum to 2^20 (largest remainder). A round has 1,024 blocks of 1,024. Every
 * block holds ⌊m_i / 1024⌋ draws of source i; the rests r_i = m_i mod 1024 are handed out as single extra draws,
 * R = Σ r_i / 1024 in each block. Dividing them by rounding alone would clump or go negative, so they are scheduled:
 * the j-th extra of source i may be given from the moment its ideal count exceeds j − 1 and must be given before
 * it exceeds j. That is a problem of unit jobs with release times and deadlines on one machine. A schedule that
 * stays less than one away from the ideal always exists (Tijdeman, the chairman assignment problem, 1980), and
 * earliest deadline first finds it.
 */
import { DefinitionError } from '../../basics/errors.js'

/** Positions in a block, and blocks in a round. */
export const BLOCK = 1024
export const BLOCKS = 1024
export const ROUND = BLOCK * BLOCKS

/** Draws of each source in a round, by weight. A weight > 0 gets at least one. */
export function quantise(weights: readonly number[], path = 'source.blend'): Uint32Array {
  let sum = 0
  weights.forEach((weight, i) => {
    if (!(weight >= 0) || weight === Infinity)
      throw new DefinitionError(`${path}.entries[${i}].weight`, `expected a number from 0, not ${weight}`)
    sum += weight
  })
  if (!(sum > 0 && sum < Infinity))
    throw new DefinitionError(
      path,
      'the weights must have a finite sum above 0, so that something can be drawn',
    )
  if (weights.length > BLOCK)
    throw new DefinitionError(path, `${weights.length} sources; at most ${BLOCK} can be blended`)

  const ideal = weights.map(weight => (weight / sum) * ROUND)
  const shares = Uint32Array.from(ideal, (x, i) => Math.max(Math.floor(x), weights[i] > 0 ? 1 : 0))
  // The furthest below its ideal gets the next one, or the furthest above gives one up; ties go to the first.
  for (let missing = ROUND - shares.reduce((a, b) => a + b); missing !== 0; missing -= Math.sign(missing)) {
    const sign = Math.sign(missing)
    let best = -1
    for (let i = 0; i < shares.length; i++) {
      if (weights[i] === 0 || (sign < 0 && shares[i] === 1)) continue
      if (best < 0 || sign * (ideal[i] - shares[i]) > sign * (ideal[best] - shares[best])) best = i
    }
    shares[best] += sign
  }
  return shares
}

/**
 * Extra draws of each source before each block of a round: entry [block * sources + source], for block 0…1024.
 * Takes 2 kB a source, in shared memory.
 */
export function scheduleExtras(shares: Uint32Array): Uint16Array {
  const sources = shares.length
  const before = new Uint16Array(new SharedArrayBuffer((BLOCKS + 1) * sources * 2))
  const rests = shares.map(share => share % BLOCKS)
  const perBlock = rests.reduce((a, b) => a + b) / BLOCKS
  const slots = perBlock * BLOCKS

  // A source is listed under the slot at which its next extra may be given, then waits among the ready ones.
  // The lists are linked: from the slot to its first source, and from each source to the next.
  const firstAt = new Int16Array(slots + 1).fill(-1)
  const nextOf = new Int16Array(sources)
  const release = (source: number, slot: number) => {
    nextOf[source] = firstAt[slot]
    firstAt[slot] = source
  }
  const given = new Uint32Array(sources)
  const ready = new Queue()
  rests.forEach((rest, source) => {
    if (rest > 0) release(source, 0)
  })
  for (let slot = 0; slot < slots; slot++) {
    if (slot % perBlock === 0) before.set(given, (slot / perBlock) * sources)
    for (let source = firstAt[slot]; source >= 0; source = nextOf[source])
      ready.push(Math.ceil(((given[source] + 1) * slots) / rests[source]), source)
    const source = ready.pop()
    given[source]++
    if (given[source] < rests[source])
      release(source, Math.max(slot + 1, Math.floor((given[source] * slots) / rests[source])))
  }
  before.set(given, BLOCKS * sources)
  return before
}

/** A binary heap of sources, earliest deadline first; the smaller source first among equals. */
class Queue {
  private readonly keys: number[] = []

  /** Deadlines are at most 2^20 and sources at most 2^10, so both fit into one number. */
  push(deadline: number, source: number): void {
    const { keys } = this
    let i = keys.push(deadline * BLOCK + source) - 1
    for (let up = (i - 1) >> 1; i > 0 && keys[up] > keys[i]; i = up, up = (i - 1) >> 1) swap(keys, i, up)
  }

  pop(): number {
    const { keys } = this
    const top = keys[0]
    const last = keys.pop()!
    if (keys.length > 0) {
      keys[0] = last
      for (let i = 0; ; ) {
        let least = 2 * i + 1
        if (least >= keys.length) break
        if (least + 1 < keys.length && keys[least + 1] < keys[least]) least++
        if (keys[i] <= keys[least]) break
        swap(keys, i, least)
        i = least
      }
    }
    return top % BLOCK
  }
}

function swap(keys: number[], i: number, j: number): void {
  const key = keys[i]
  keys[i] = keys[j]
  keys[j] = key
}
