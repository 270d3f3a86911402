/** Small pictures and shards of them, made on the spot: no two are alike. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import { encodeJpeg } from '../../packages/core/system/codecs/turbojpeg.js'
import { type TarEntry, tarFile } from './tar.js'

/** A JPEG of its own for each seed. */
export function jpeg(seed: number, width = 32, height = width): Uint8Array {
  const rgb = new Uint8Array(width * height * 3)
  for (let i = 0; i < rgb.length; i++) rgb[i] = (i * (seed + 3) + seed * 31 + (i >> 5) * 7) & 255
  return encodeJpeg(rgb, width, height, 90)
}

/** A grey PNG of 8 bits; its values are the seed's. */
export function greyPng(seed: number, width: number, height: number): Uint8Array {
  const lines = new Uint8Array(height * (width + 1)) // each line begins with its filter: none
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) lines[y * (width + 1) + 1 + x] = (seed + (x >> 2) + (y >> 2)) % 5
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, 0], 8) // bits, grey, deflate, adaptive filters, not interlaced
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const data = deflateSync(lines)
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const out = Buffer.alloc(body.length + 8)
  out.writeUInt32BE(data.length, 0)
  out.set(body, 4)
  out.writeUInt32BE(crc32(body) >>> 0, body.length + 4)
  return out
}

/** Everything a sample can have: picture, mask, boxes, label, caption, and bytes of varying length. */
export function richSample(i: number): TarEntry[] {
  const width = 24 + (i % 17)
  const height = 20 + (i % 13)
  const key = `s${String(i).padStart(4, '0')}`
  const boxes = Array.from({ length: i % 4 }, (_, b) => [b * 3, b * 2, 8 + b * 3, 9 + b * 2, b])
  return [
    { name: `${key}.jpg`, data: jpeg(i, width, height) },
    { name: `${key}.mask.png`, data: greyPng(i, width, height) },
    { name: `${key}.boxes.json`, data: JSON.stringify(boxes) },
    { name: `${key}.cls`, data: String(i % 10) },
    { name: `${key}.txt`, data: `sample ${i}${' ä€'.repeat(i % 5)}` },
    { name: `${key}.bin`, data: Uint8Array.from({ length: (i * 7) % 23 }, (_, k) => i + k) },
  ]
}

/** Writes samples into shards `train-0000.tar` … of a folder. */
export function writeShards(
  folder: string,
  count: number,
  shards: number,
  sample: (i: number) => TarEntry[] = richSample,
): void {
  mkdirSync(folder, { recursive: true })
  const each = Math.ceil(count / shards)
  for (let shard = 0; shard < shards; shard++) {
    const from = shard * each
    const entries = Array.from({ length: Math.min(each, count - from) }, (_, i) => sample(from + i))
    writeFileSync(
      join(folder, `train-${String(shard).padStart(4, '0')}.tar`),
      tarFile(entries.flat(), { pad: false }),
    )
  }
}
