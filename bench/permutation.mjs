// How many positions of a global shuffle one thread computes in a second. Needs `npm run build` first.
//
//   node bench/permutation.mjs            one JSON object on stdout; rates are positions a second, medians of 5
import os from 'node:os'
import { permutation } from '../dist/order/permutation.js'

const RUNS = 5
const POSITIONS = 3_000_000
const PRIME = 1_000_003

/** Consecutive positions, as a loader asks for them; the sum keeps the work from being optimised away. */
const loops = {
  at(order, sum = 0) {
    for (let i = 0, p = 0; i < POSITIONS; i++, p = p + 1 === order.n ? 0 : p + 1)
      sum = (sum + order.at(p)) % PRIME
    return sum
  },
  inverse(order, sum = 0) {
    for (let i = 0, p = 0; i < POSITIONS; i++, p = p + 1 === order.n ? 0 : p + 1)
      sum = (sum + order.inverse(p)) % PRIME
    return sum
  },
}

function rate(n, method) {
  const order = permutation(n, { seed: 7, epoch: 3 })
  const begun = process.hrtime.bigint()
  const sum = loops[method](order)
  const seconds = Number(process.hrtime.bigint() - begun) / 1e9
  if (Number.isNaN(sum)) throw new Error('a position without an index')
  return POSITIONS / seconds
}

const median = values => values.sort((a, b) => a - b)[values.length >> 1]

// 2^30 + 1 is the worst case near 10^9: half of the cipher's domain lies outside and is walked through.
const sizes = { '1e3': 1e3, '1e6': 1e6, '1e9': 1e9, '2^30+1': 2 ** 30 + 1, '2^45': 2 ** 45 }
const runs = Object.fromEntries(Object.keys(sizes).map(name => [name, { at: [], inverse: [] }]))
for (const n of Object.values(sizes)) rate(n, 'at') + rate(n, 'inverse') // warms up every path
for (let run = 0; run < RUNS; run++)
  for (const [name, n] of Object.entries(sizes))
    for (const method of ['at', 'inverse']) runs[name][method].push(rate(n, method))

console.log(
  JSON.stringify(
    {
      bench: 'permutation',
      machine: {
        cpu: os.cpus()[0]?.model.trim(),
        cores: os.cpus().length,
        platform: `${os.platform()} ${os.arch()}`,
      },
      node: process.version,
      runs: RUNS,
      positionsPerRun: POSITIONS,
      perSecond: Object.fromEntries(
        Object.entries(runs).map(([name, { at, inverse }]) => [
          name,
          { at: Math.round(median(at)), inverse: Math.round(median(inverse)) },
        ]),
      ),
    },
    null,
    2,
  ),
)
