// A process of bench/spans.mjs: opens the feed at the level that it is told, takes batches, and closes it again. The worker
// threads stay, with their compiled code, so that levels differ in what they write and in nothing else.
import { open } from '../../dist/index.js'

const { feed, options } = JSON.parse(process.argv[2])

/** Batches that don't count: those made while the ring fills, and while the first of them are handed out. */
const WARM = 3 * options.depth

/** Opens the feed at a level, and takes so many batches, or as many as come in `ms`. Time and CPU time in ms. */
async function take(level, { batches, ms }) {
  process.env.MILLRACE_SPANS = level
  const loader = open(feed, { ...options, epochs: null })
  try {
    const loop = loader[Symbol.asyncIterator]()
    for (let i = 0; i < WARM; i++) await loop.next()
    const cpu = process.cpuUsage()
    const begun = performance.now()
    let got = 0
    while (got < (batches ?? Infinity) && !(performance.now() - begun >= ms)) {
      await loop.next()
      got++
    }
    const wall = performance.now() - begun
    const { user, system } = process.cpuUsage(cpu)
    return { got, wall, cpu: (user + system) / 1000 }
  } finally {
    await loader.close()
  }
}

process.on('message', async ([level, wanted]) => process.send(await take(level, wanted)))
// Ctrl-C comes to all processes: the other one decides.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {})
process.on('disconnect', () => process.exit()) // also when the other process was killed
// Spans have their memory from the first feed of a process on: it must not be one without.
await take('spans', { batches: 1 })
process.send('ready')
