// Draws the cases of an exam from a seed: which kinds, in which order. A quarter is healthy, an eighth has two faults.
import { HEALTHY, KINDS, PAIRS } from './kinds.mjs'

/** Random choices from a seed (mulberry32). */
export class Draw {
  constructor(seed) {
    this.state = seed >>> 0
  }
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let t = this.state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  between(low, high) {
    return low + (high - low) * this.next()
  }
  one(list) {
    return list[Math.floor(this.next() * list.length)]
  }
  shuffled(list) {
    const left = [...list]
    return list.map(() => left.splice(Math.floor(this.next() * left.length), 1)[0])
  }
}

/** Every kind of a table in turn, in drawn order. */
function turns(draw, table, count) {
  const found = []
  while (found.length < count) found.push(...draw.shuffled(Object.keys(table)))
  return found.slice(0, count)
}

/** `count` cases: names, kinds, and a seed for each. */
export function drawCases(seed, count) {
  const draw = new Draw(seed)
  const healthy = Math.round(count / 4)
  const pairs = Math.round(count / 8)
  const kinds = [
    ...turns(draw, HEALTHY, healthy).map(kind => ({ group: 'healthy', kind })),
    ...turns(draw, PAIRS, pairs).map(kind => ({ group: 'pair', kind })),
    ...turns(draw, KINDS, count - healthy - pairs).map(kind => ({ group: 'fault', kind })),
  ]
  return draw.shuffled(kinds).map((one, i) => ({
    ...one,
    name: `case-${String(i + 1).padStart(3, '0')}`,
    seed: Math.floor(draw.next() * 2 ** 32),
  }))
}

const TABLES = { healthy: HEALTHY, pair: PAIRS, fault: KINDS }

/** The settings of a case on a lane: healthy, and with each fault. */
export function settle(one, lane) {
  return TABLES[one.group][one.kind]({ ...lane, draw: new Draw(one.seed) })
}
