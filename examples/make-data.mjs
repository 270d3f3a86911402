/**
 * Makes the data of the other examples, from nothing, in a few seconds:
 *
 *   node examples/make-data.mjs [folder, by default this one]
 *
 *   photos/train/cat/0000.jpg …      a folder with one folder for each class, packed by `millrace pack` into
 *   shards/train-0000.tar … 0015     512 samples: jpg, cls (for cats.feed.ts)
 *   shards/val-0000.tar … 0003       128 samples
 *   shards/segments-0000.tar, 0001   64 samples: jpg, mask.png, boxes.json (for segmentation.feed.mjs)
 *
 * A "cat" is a picture of discs, a "dog" one of squares. Needs `npm run build` first.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'

const millrace = fileURLToPath(import.meta.resolve('millrace').replace('index.js', 'cli/main.js'))
const folder = resolve(process.argv[2] ?? import.meta.dirname)
const SIDE = 96

/** A small generator of random numbers, so that the data is the same everywhere. */
function randomFrom(seed) {
  let state = seed * 2654435761 + 1
  return (low, high) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return low + Math.floor(((state >>> 8) / 2 ** 24) * (high - low))
  }
}

/** A scene of discs (class 0) or squares (class 1): its pixels, its mask of classes, its boxes. */
function scene(seed, kinds) {
  const random = randomFrom(seed)
  const pixels = Buffer.alloc(SIDE * SIDE * 3)
  const mask = Buffer.alloc(SIDE * SIDE)
  const ground = [random(60, 120), random(60, 120), random(60, 120)]
  for (let at = 0; at < pixels.length; at++) pixels[at] = ground[at % 3] + random(0, 12)
  const boxes = Array.from({ length: random(1, 4) }, () => {
    const kind = kinds[random(0, kinds.length)]
    const half = random(8, 16)
    const [x, y] = [random(half, SIDE - half), random(half, SIDE - half)]
    const colour = [random(130, 255), random(130, 255), random(130, 255)]
    for (let row = y - half; row < y + half; row++) {
      for (let column = x - half; column < x + half; column++) {
        if (kind === 0 && (column - x) ** 2 + (row - y) ** 2 > half ** 2) continue
        pixels.set(colour, (row * SIDE + column) * 3)
        mask[row * SIDE + column] = kind + 1
      }
    }
    return [x - half, y - half, x + half, y + half, kind]
  })
  return { pixels, mask, boxes }
}

const raw = channels => ({ raw: { width: SIDE, height: SIDE, channels } })
const jpeg = pixels => sharp(pixels, raw(3)).jpeg({ quality: 90 }).toBuffer()
const png = mask => sharp(mask, raw(1)).toColourspace('b-w').png().toBuffer()
const number = n => String(n).padStart(4, '0')

/** A file appears whole or not at all. */
function write(path, bytes) {
  writeFileSync(`${path}.new`, bytes)
  renameSync(`${path}.new`, path)
}

/** Photos of one class each, and their shards. */
async function photos(part, count, shards) {
  const jobs = Array.from({ length: count }, async (_, i) => {
    const kind = i % 2
    const home = join(folder, 'photos', part, ['cat', 'dog'][kind])
    mkdirSync(home, { recursive: true })
    write(join(home, `${number(i)}.jpg`), await jpeg(scene(i + (part === 'val' ? 10_000 : 0), [kind]).pixels))
  })
  await Promise.all(jobs)
  const words = ['pack', join(folder, 'photos', part), '--out', join(folder, 'shards'), '--prefix', part]
  const { status } = spawnSync(process.execPath, [millrace, ...words, '--shards', String(shards)], {
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(status ?? 1)
}

/** A member of a tar file: a header of 512 bytes, and the bytes, filled up to whole blocks. */
function member(name, bytes) {
  const header = Buffer.alloc(512)
  const octal = (value, at, digits) => header.write(`${value.toString(8).padStart(digits, '0')}\0`, at)
  header.write(name)
  octal(0o644, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  octal(bytes.length, 124, 11)
  octal(0, 136, 11)
  header.write('        0', 148) // eight blanks where the checksum will be; type 0: a file
  header.write('ustar\0', 257)
  header.write('00', 263)
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  )
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)])
}

/** Shards written by hand: members of one sample stand together and share the name before the first dot. */
async function segments(shards, perShard) {
  for (let shard = 0; shard < shards; shard++) {
    const members = []
    for (let i = shard * perShard; i < (shard + 1) * perShard; i++) {
      const { pixels, mask, boxes } = scene(20_000 + i, [0, 1])
      members.push(
        member(`${number(i)}.jpg`, await jpeg(pixels)),
        member(`${number(i)}.mask.png`, await png(mask)),
        member(`${number(i)}.boxes.json`, Buffer.from(JSON.stringify(boxes))),
      )
    }
    const path = join(folder, 'shards', `segments-${number(shard)}.tar`)
    write(path, Buffer.concat([...members, Buffer.alloc(1024)]))
  }
}

await photos('train', 512, 16)
await photos('val', 128, 4)
await segments(2, 32)
console.log(`Made ${join(folder, 'shards')}. Next: millrace run examples/cats.feed.ts`)
