/** A folder of small PNGs, which libvips decodes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import type { FeedJson } from '../../support/engine.js'

export function PNGS(folder: string): FeedJson {
  for (let i = 0; i < 16; i++) writeFileSync(join(folder, `${i}.png`), png(32, 16 * i))
  return {
    source: { files: join(folder, '*.png') },
    fields: { image: { from: 'png', as: 'image', apply: [{ resize: [8, 8] }] } },
    batch: { size: 8 },
  } as FeedJson
}

/** A grey square. */
function png(side: number, grey: number): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(side, 0)
  head.writeUInt32BE(side, 4)
  head[8] = 8 // bits; all else is 0: grey, no interlacing
  const rows = Buffer.alloc(side * (side + 1), grey)
  for (let y = 0; y < side; y++) rows[y * (side + 1)] = 0
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const bytes = Buffer.alloc(body.length + 8)
  bytes.writeUInt32BE(data.length, 0)
  body.copy(bytes, 4)
  bytes.writeUInt32BE(crc32(body), body.length + 4)
  return bytes
}
