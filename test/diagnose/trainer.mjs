/** A trainer for tests: loops until it is killed. It prints its state every 50 ms, as JSON lines. */
const [dist, options] = process.argv.slice(2)
const { open } = await import(dist)
const feed = {
  source: { synthetic: { count: 1000, tensors: { shape: [64], dtype: 'f32' } } },
  fields: { data: { from: 'data', as: 'npy', shape: [64], dtype: 'f32' } },
  batch: { size: 10 },
}
const loader = open(feed, { workers: 1, depth: 4, epochs: null, ...JSON.parse(options ?? '{}') })
const never = new Int32Array(new SharedArrayBuffer(4))
await loader.ready
let told = 0
let steps = 0
for await (const _ of loader) {
  Atomics.wait(never, 0, 0, 5)
  steps++
  if (performance.now() - told < 50) continue
  told = performance.now()
  const { workers, depth } = loader.stats()
  process.stdout.write(`${JSON.stringify({ steps, workers, depth })}\n`)
}
