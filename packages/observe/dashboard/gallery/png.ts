/** Writes a PNG: 8 bits a channel, RGB, no filter. Small pictures for a page. */
import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** 8 bits a channel; colour type 2: red, green, blue. */
const DEPTH = 8
const RGB = 2
/** Deflate's level: these are looked at once. */
const LEVEL = 3

/** A picture: three bytes a pixel, row by row. */
export interface Rgb {
  width: number
  height: number
  bytes: Uint8Array
}

export function png({ width, height, bytes }: Rgb): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = DEPTH
  head[9] = RGB
  // Each row begins with the number of its filter: 0, none.
  const rows = Buffer.alloc(height * (1 + 3 * width))
  for (let y = 0; y < height; y++)
    rows.set(bytes.subarray(y * 3 * width, (y + 1) * 3 * width), y * (1 + 3 * width) + 1)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows, { level: LEVEL })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

export function dataUrl(picture: Rgb): string {
  return `data:image/png;base64,${png(picture).toString('base64')}`
}

function chunk(type: string, data: Buffer): Buffer {
  const whole = Buffer.alloc(12 + data.length)
  whole.writeUInt32BE(data.length, 0)
  whole.write(type, 4, 'latin1')
  data.copy(whole, 8)
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + data.length)), 8 + data.length)
  return whole
}
