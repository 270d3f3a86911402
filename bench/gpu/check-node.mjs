// Checks the device stage of Node on a GPU: the same batches decoded by the CPU and by nvJPEG, pixel by pixel; then the
// rates of both, in u8 and f32.
//
//   node bench/gpu/check-node.mjs SHARDS.tar [--batch 256] [--size 224] [--compare 4] [--seconds 4] [--workers n] [--json]
//
// Exits 1 when the pixels differ by more than 2/255 on average, or when samples, labels or order differ at all.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { cuda, feed, image, int, MissingError, open, shuffle, tar } from '../../dist/index.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    batch: { type: 'string', default: '256' },
    size: { type: 'string', default: '224' },
    compare: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '4' },
    workers: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
if (positionals.length === 0) {
  console.error('usage: node bench/gpu/check-node.mjs SHARDS.tar [--batch 256] [--size 224] [--seconds 4]')
  process.exit(2)
}
const say = values.json ? () => {} : console.log
const LIMIT = 2 / 255
const size = Number(values.size)
const workers = values.workers === undefined ? {} : { workers: Number(values.workers) }

/** The feed in the element type; f32 is scaled to 0…1 so that differences are in the same unit. */
function photos(dtype) {
  const picture = image('jpg|jpeg|png').randomResizedCrop(size).flip()
  const scaled = picture.normalize({ mean: [0, 0, 0], std: [1, 1, 1] })
  return feed({
    source: tar(positionals.map(path => resolve(path))),
    order: shuffle({ seed: 7 }),
    fields: { image: dtype === 'u8' ? picture.dtype('u8') : scaled, label: int('cls') },
    batch: Number(values.batch),
  })
}

/** Some batches, copied to the host. */
async function collect(dtype, options, steps) {
  const loader = open(photos(dtype), { ...workers, ...options, steps, notice: text => say(`  ${text}`) })
  const batches = []
  for await (const batch of loader) {
    const onHost = options.device === undefined
    batches.push({
      ids: batch.ids.join(),
      image: onHost ? batch.image.slice() : await batch.image.copyToHost(),
      label: onHost ? batch.label.slice() : await batch.label.copyToHost(),
    })
  }
  await loader.close()
  return batches
}

/** Mean and greatest absolute difference, where 1 is the whole range. */
function difference(a, b, dtype) {
  const unit = dtype === 'u8' ? 255 : 1
  let [sum, most, count] = [0, 0, 0]
  for (const [i, { image }] of a.entries()) {
    for (let j = 0; j < image.length; j++) {
      const d = Math.abs(image[j] - b[i].image[j]) / unit
      sum += d
      if (d > most) most = d
    }
    count += image.length
  }
  return { mean: sum / Math.max(1, count), max: most }
}

function same(a, b) {
  return (
    a.length === b.length &&
    a.every(({ ids, label }, i) => ids === b[i].ids && String(label) === String(b[i].label))
  )
}

/** Images a second on the device, after a second of running in; the GPU's work is waited for by the loader itself. */
async function rate(dtype, decode) {
  const loader = open(photos(dtype), { ...workers, device: 'cuda', decode, epochs: null, depth: 8 })
  let [images, begun] = [0, Number.POSITIVE_INFINITY]
  const start = performance.now()
  for await (const batch of loader) {
    const now = performance.now()
    if (begun === Number.POSITIVE_INFINITY) {
      if (now - start > 1500 && batch.step > 3) begun = now
      continue
    }
    images += batch.count
    if (now - begun > 1000 * Number(values.seconds)) break
  }
  const seconds = (performance.now() - begun) / 1000
  const { workers: makers } = loader.stats()
  await loader.close()
  return { imagesPerSecond: Math.round(images / seconds), makers }
}

async function main() {
  const results = { compare: {}, rates: {} }
  let failed = false
  for (const dtype of ['u8', 'f32']) {
    const steps = Number(values.compare)
    const host = await collect(dtype, {}, steps)
    const onCpu = await collect(dtype, { device: 'cuda', decode: 'cpu' }, steps)
    const onGpu = await collect(dtype, { device: 'cuda', decode: 'gpu' }, steps)
    const copied = difference(host, onCpu, dtype)
    const decoded = difference(host, onGpu, dtype)
    const equal = same(host, onCpu) && same(host, onGpu)
    const good = equal && copied.max === 0 && decoded.mean <= LIMIT
    failed ||= !good
    results.compare[dtype] = { samplesEqual: equal, copied, decoded, limit: LIMIT, good }
    say(
      `${dtype}: samples ${equal ? 'equal' : 'DIFFER'}; copied from the CPU: max ${copied.max}; decoded on the GPU: ` +
        `mean ${(decoded.mean * 255).toFixed(4)}/255, max ${(decoded.max * 255).toFixed(1)}/255 ${good ? 'ok' : 'WRONG'}`,
    )
  }
  for (const dtype of ['u8', 'f32']) {
    for (const decode of ['cpu', 'gpu']) {
      const found = await rate(dtype, decode)
      results.rates[`${dtype} ${decode}`] = found
      say(`${dtype}, decoded on the ${decode}: ${found.imagesPerSecond} img/s with ${found.makers} makers`)
    }
  }
  if (values.json) console.log(JSON.stringify(results))
  process.exitCode = failed ? 1 : 0
}

try {
  cuda.synchronize()
  await main()
} catch (error) {
  if (!(error instanceof MissingError)) throw error
  console.error(`this check needs a GPU: ${error.message}`)
  process.exitCode = 2
}
