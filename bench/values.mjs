// What it costs to write an array into a row: tokens of u16 as i64, against a memcpy of the output; and an array of 147 MB
// that needs no conversion, against a plain read into the slot. Each turn has them all, one after the other.
//
//   node bench/values.mjs [--save] [--rounds 15]
import { closeSync, existsSync, mkdirSync, openSync, readSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import '../build/all/registry.js'
import { decoderOf } from '../build/core/define/kind.js'
import { BY_WORKER } from '../build/core/define/making.js'
import { normalizeFeed } from '../build/core/define/normalize.js'
import { Fetcher } from '../build/core/engine/fetch/fetch.js'
import { copyInto } from '../build/core/system/memory/copy.js'
import { Workspace } from '../build/core/system/memory/workspace.js'
import { interleaved, keep, median, stamp } from './support.mjs'

const at = process.argv.indexOf('--rounds')
const rounds = at < 0 ? 15 : Number(process.argv[at + 1])

const programOf = (shape, dtype) => {
  const fields = { x: { from: 'x', as: 'npy', shape, dtype } }
  const [field] = normalizeFeed({ source: { tar: 'x.tar' }, fields, batch: 1 }, '/').fields
  return decoderOf(field).compile(field, { layout: field.layout, making: BY_WORKER })
}
const contextOf = (work, read) => ({ work, position: 0, chosen: new Map(), random: () => undefined, read })

/** GB/s of `bytes` written by each of `times` calls. */
const rate = (bytes, times, run) => {
  const begun = performance.now()
  for (let i = 0; i < times; i++) run(i)
  return (bytes * times) / (performance.now() - begun) / 1e6
}

/** Each turn's rate over that of its own baseline: the machine's other load is the same for both. */
const ratios = (results, name, base) => {
  const of = results[name].values.map((value, i) => value / results[base].values[i])
  return { median: median(of), min: Math.min(...of), max: Math.max(...of) }
}

/** Rows of so many tokens, in a slot of 64 MiB. */
async function tokens(length) {
  const rows = 2 ** 23 / length
  const work = Workspace.alone(2 ** 26 + 2 ** 21)
  const slot = work.take(2 ** 26)
  const source = Uint16Array.from({ length: 2 ** 23 }, (_, i) => i * 31)
  const stored = new Uint8Array(source.buffer)
  const wide = new Uint8Array(2 ** 26).fill(7)
  const program = programOf([length], 'i64')
  const context = contextOf(work)
  const convert = row => {
    const data = stored.subarray(row * length * 2, (row + 1) * length * 2)
    program.run({ dtype: 'u16', shape: [length], tiles: [{ data }] }, slot + row * length * 8, context)
  }
  const copy = row =>
    copyInto(work, wide.subarray(row * length * 8, (row + 1) * length * 8), slot + row * length * 8)
  for (let row = 0; row < rows; row++) {
    convert(row)
    copy(row)
  }
  const results = await interleaved(
    {
      memcpy: () => rate(length * 8, rows * 4, i => copy(i % rows)),
      convert: () => rate(length * 8, rows * 4, i => convert(i % rows)),
    },
    rounds,
  )
  return { ...results, ratio: ratios(results, 'convert', 'memcpy') }
}

/** One array of 147 MB in a file, in the page cache. */
async function large() {
  const bytes = 147_000_000
  const folder = join(tmpdir(), 'millrace-bench-values')
  const file = join(folder, 'large.bin')
  mkdirSync(folder, { recursive: true })
  if (!existsSync(file)) writeFileSync(file, Buffer.alloc(bytes, 5))
  const work = Workspace.alone(bytes + 2 ** 21)
  const slot = work.take(bytes)
  const fetcher = new Fetcher([], undefined, 0)
  const context = contextOf(work, (range, into) => fetcher.readInto(range, into))
  const program = programOf([bytes / 4], 'f32')
  const landing = new Uint8Array(bytes)
  const fd = openSync(file)
  const plain = () => rate(bytes, 1, () => readSync(fd, work.u8.subarray(slot, slot + bytes), 0, bytes, 0))
  const unread = () => {
    const column = { dtype: 'f32', shape: [bytes / 4], tiles: [{ data: { file, offset: 0, length: bytes } }] }
    return rate(bytes, 1, () => program.run(column, slot, context))
  }
  const landed = () =>
    rate(bytes, 1, () => {
      readSync(fd, landing, 0, bytes, 0)
      program.run(landing, slot, context)
    })
  for (const run of [plain, unread, landed]) run()
  const results = await interleaved({ plain, unread, landed }, rounds)
  closeSync(fd)
  fetcher.close()
  return {
    ...results,
    ratio: ratios(results, 'unread', 'plain'),
    landedRatio: ratios(results, 'landed', 'plain'),
  }
}

keep('values', {
  ...stamp(),
  command: `node bench/values.mjs --rounds ${rounds}`,
  what: 'GB/s written into the slot by one thread; ratios are those within a turn',
  rounds,
  'u16 → i64, rows of 4,096': await tokens(4096),
  'u16 → i64, rows of 524,288': await tokens(2 ** 19),
  'one array of 147 MB, page cache warm': await large(),
})
