/** A trainer for tests: loops until it is killed. It prints its state every 50 ms, as JSON lines. */
const [dist, options] = process.argv.slice(2)
const { open } = await import(dist)
const feed = {
  source: { synthetic: { count: 1000, tensors: { shape: [64], dtype: 'f32' } } },
  fields: { data: { from: 'data', as: 'npy', shape: [64], dtype: 'f32' } },
  batch: { size: 10 },
}
const { ranks = 1, ...given } = JSON.parse(options ?? '{}')
const opening = { workers: 1, depth: 4, tune: 'off', epochs: null, ...given }
const loader = open(feed, ranks > 1 ? { ...opening, rank: 0, world: ranks } : opening)
// Other ranks of the same process.
const others = Array.from({ length: ranks - 1 }, (_, i) =>
  open(feed, { ...opening, rank: i + 1, world: ranks }),
)
const loops = others.map(other => other[Symbol.asyncIterator]())
const never = new Int32Array(new SharedArrayBuffer(4))
await loader.ready
let told = 0
let steps = 0
for await (const _ of loader) {
  for (const loop of loops) await loop.next()
  Atomics.wait(never, 0, 0, 5)
  steps++
  if (performance.now() - told < 50) continue
  told = performance.now()
  const { workers, depth } = loader.stats()
  process.stdout.write(`${JSON.stringify({ steps, workers, depth })}\n`)
}
