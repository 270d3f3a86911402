/** A trainer for tests, of a file of numbers: loops until it is killed. It prints its state every 50 ms, as JSON lines. */
const [dist, file, options] = process.argv.slice(2)
const { open } = await import(dist)
const feed = { source: { text: file }, fields: { data: { from: 'text', as: 'float' } }, batch: { size: 10 } }
const { ranks = 1, ...given } = JSON.parse(options ?? '{}')
const opening = { workers: 1, depth: 4, epochs: null, ...given }
const loaders = Array.from({ length: ranks }, (_, rank) =>
  open(feed, ranks > 1 ? { ...opening, rank, world: ranks } : opening),
)
const loops = loaders.slice(1).map(loader => loader[Symbol.asyncIterator]())
const never = new Int32Array(new SharedArrayBuffer(4))
let told = 0
let steps = 0
for await (const _ of loaders[0]) {
  for (const loop of loops) await loop.next()
  Atomics.wait(never, 0, 0, 5)
  steps++
  if (performance.now() - told < 50) continue
  told = performance.now()
  process.stdout.write(`${JSON.stringify({ steps })}\n`)
}
