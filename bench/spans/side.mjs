// One side of bench/spans.mjs, in a process of its own: opens the feed that it is told and takes batches when it is asked to.
import { open } from '../../dist/index.js'

/** Milliseconds in which the ring fills again after a turn. */
const REST = 20

const { feed, options } = JSON.parse(process.argv[2])
const loader = open(feed, { ...options, epochs: null })
const batches = loader[Symbol.asyncIterator]()
let cpu = process.cpuUsage()

/** How many batches come in so many ms. */
async function count(ms) {
  const end = performance.now() + ms
  let got = 0
  for (; performance.now() < end; got++) await batches.next()
  return got
}

/** ms that so many batches took. Those that lay ready took no time to make; afterwards as many lie ready again. */
async function take(wanted) {
  const begun = performance.now()
  for (let i = 0; i < wanted; i++) await batches.next()
  const ms = performance.now() - begun
  const made = Math.max(1, wanted - options.depth)
  await new Promise(done => setTimeout(done, REST + (1.5 * ms * options.depth) / made))
  return (ms * wanted) / made
}

/** CPU ms of this process, with all its threads, since it was last asked for. */
function spent() {
  const { user, system } = process.cpuUsage(cpu)
  cpu = process.cpuUsage()
  return (user + system) / 1000
}

const answers = { count, take, spent }
process.on('message', async ([what, argument]) => process.send(await answers[what](argument)))
// Ctrl-C comes to all processes: the other one decides.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {})
process.on('disconnect', () => process.exit()) // also when the other process was killed
process.send((await batches.next()).done === false)
