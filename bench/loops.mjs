// The feeds that several benchmarks measure, and the loops that measure them. Each loop is given `open`, so that it can run
// any build of Millrace: bench/pairs.mjs gives it those of two checkouts in turn.

const label = { from: 'cls', as: 'int' }
const crop = [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }]
const order = { shuffle: 'global', seed: 1 }

/** Pictures of 224², cropped and flipped, as `u8`, or normalised as `f32`. */
export const pictureFeed = (source, dtype, batch) => ({
  source,
  order,
  fields: {
    image: { from: 'jpg', as: 'image', apply: dtype === 'f32' ? [...crop, { normalize: 'imagenet' }] : crop },
    label,
  },
  batch,
})

/** Pictures that need no decoding, cropped and flipped. */
export const rawFeed = (source, layout, batch) => ({
  source,
  order,
  fields: { image: { from: 'npy', as: 'image', layout, apply: crop }, label },
  batch,
})

/** Bytes of a row of `memoryFeed`. */
export const ROW = 4096
export const memorySource = { synthetic: { count: 1_000_000, tensors: { shape: [ROW], dtype: 'u8' } } }

/** Rows of 4 kB that come from memory: no files, no decoding. */
export const memoryFeed = batch => ({
  source: memorySource,
  order,
  fields: { data: { from: 'data', as: 'npy', dtype: 'u8', shape: [ROW] } },
  batch,
})

/** Small pictures of a source with many samples. */
export const manyFeed = source => ({
  source,
  order,
  fields: { image: { from: 'jpg', as: 'image', apply: [{ randomResizedCrop: { size: 64 } }] }, label },
  batch: 256,
})

/** A clock of what has passed since: milliseconds, and CPU milliseconds of this process with all its threads. */
function clock() {
  const begun = performance.now()
  const cpu = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(cpu)
    return { ms: performance.now() - begun, cpuMs: (user + system) / 1000 }
  }
}

/**
 * Takes batches until the feed ends, or until `seconds` have passed since batch number `warm` came, or a later one, `warmSeconds` after
 * the first. What came until then is not counted, so that starting isn't either.
 */
export async function through(
  open,
  definition,
  { warm: first, warmSeconds = 0, seconds = Number.POSITIVE_INFINITY, ...options },
) {
  const loader = open(definition, options)
  let warm = first
  let warmUntil
  let passed
  let end = Number.POSITIVE_INFINITY
  let seen = 0
  let rows = 0
  for await (const batch of loader) {
    warmUntil ??= performance.now() + warmSeconds * 1000
    if (++seen > warm) {
      rows += batch.count
      if (performance.now() >= end) break
    } else if (seen === warm) {
      if (performance.now() < warmUntil) {
        warm++
        continue
      }
      end = performance.now() + seconds * 1000
      passed = clock()
    }
  }
  if (passed === undefined)
    throw new Error(`the feed ended within ${warm} batches, before the measuring began`)
  const result = { batches: seen - warm, rows, ...passed() }
  await loader.close()
  return result
}

/** From `open` to the first batch. */
export async function firstBatch(open, definition, options) {
  const passed = clock()
  const loader = open(definition, options)
  for await (const batch of loader) {
    const result = { ...passed(), openMs: loader.stats().openMs, count: batch.count }
    await loader.close()
    return result
  }
}

/** Resident memory over 2 × `steps`, and its slope by least squares over the second half, after warming up. */
export async function memory(open, source, steps) {
  const loader = open(pictureFeed(source, 'f32', 16), { workers: 2, depth: 4, steps: 2 * steps })
  const samples = []
  let step = 0
  for await (const batch of loader) {
    batch.ids
    if (++step % 50 === 0) {
      globalThis.gc?.()
      samples.push([step, process.memoryUsage.rss() / 1e6])
    }
  }
  const { budgetBytes, slotBytes } = loader.stats()
  await loader.close()
  const late = samples.filter(([s]) => s > steps)
  const meanX = late.reduce((sum, [x]) => sum + x, 0) / late.length
  const meanY = late.reduce((sum, [, y]) => sum + y, 0) / late.length
  const slope =
    late.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) /
    late.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return {
    slopeMBPer1000Steps: slope * 1000,
    firstMB: late[0][1],
    lastMB: late.at(-1)[1],
    budgetMB: budgetBytes / 1e6,
    slotMB: slotBytes / 1e6,
    samples: samples.filter((_, i) => i % 8 === 0),
  }
}
