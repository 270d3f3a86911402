/**
 * Photographs to be decoded: pieces of one large canvas of cloudy noise and grain, which is painted once a thread. Painting each
 * picture anew would take ten times as long as to encode it. Piece i is the same on every machine.
 */
import { hashText, Random } from '../../../../build/core/basics/random.js'
import { encodeJpeg } from '../../../../build/core/system/codecs/turbojpeg.js'

/** Pictures of RetinaNet's class: the short side has 800 pixels, the long one at most 1333. */
const SHORT = 800
const LONG = [1067, 1200, 1333]
/** Side of the canvas, and of the noise that is repeated on it. */
const SIDE = 2560
const TILE = 512
const QUALITY = 90
/** Strength of the grain: what makes a file of about 323 kB of such a picture at this quality. */
const GRAIN = 27
const KEY = hashText('retinanet picture')
/** Paints the canvas; gives a function from a picture's number to its JPEG. */
export function painter(seed) {
  const canvas = paint(seed)
  const rgb = new Uint8Array(SHORT * Math.max(...LONG) * 3)
  const random = new Random()
  return picture => {
    random.key(seed, 0, picture, KEY)
    const long = LONG[random.int(LONG.length)]
    const upright = random.int(4) === 0
    const [width, height] = upright ? [SHORT, long] : [long, SHORT]
    const [left, top] = [random.int(SIDE - width), random.int(SIDE - height)]
    const shift = Array.from({ length: 3 }, () => random.int(64) - 32)
    for (let y = 0; y < height; y++) {
      const from = ((top + y) * SIDE + left) * 3
      shifted(canvas, from, rgb, y * width * 3, width, shift)
    }
    return encodeJpeg(rgb, width, height, QUALITY)
  }
}
/** A row of pixels, each channel brighter or darker: no two pictures have the same blocks. */
function shifted(from, at, to, start, width, [r, g, b]) {
  for (let i = 0, x = 0; x < width; x++, i += 3) {
    to[start + i] = clamp(from[at + i] + r)
    to[start + i + 1] = clamp(from[at + i + 1] + g)
    to[start + i + 2] = clamp(from[at + i + 2] + b)
  }
}
function clamp(value) {
  return Math.min(255, Math.max(0, value))
}
function paint(seed) {
  const random = new Random().key(seed, 0, 0, KEY ^ 1)
  const tile = noise(random)
  const canvas = new Uint8Array(SIDE * SIDE * 3)
  let at = 0
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const coarse = tile[((y >> 1) & (TILE - 1)) * TILE + ((x >> 1) & (TILE - 1))]
      const fine = tile[((3 * y + 97) & (TILE - 1)) * TILE + ((3 * x + 31) & (TILE - 1))]
      const speck = GRAIN * (random.bits() / 2 ** 32 - 0.5)
      const light = 128 + 90 * coarse + 40 * fine + speck
      canvas[at++] = clamp(light + 30 * fine)
      canvas[at++] = clamp(light)
      canvas[at++] = clamp(light - 40 * coarse)
    }
  }
  return canvas
}
/** White noise smoothed at several scales, values about −1…1. */
function noise(random) {
  const tile = new Float32Array(TILE * TILE)
  for (let cell = 128; cell >= 2; cell >>= 1) {
    const side = TILE / cell
    const corners = Float32Array.from({ length: side * side }, () => random.uniform(-1, 1))
    const strength = cell / 256
    for (let y = 0; y < TILE; y++) {
      const cy = Math.floor(y / cell)
      const fy = (y % cell) / cell
      for (let x = 0; x < TILE; x++) {
        const cx = Math.floor(x / cell)
        const fx = (x % cell) / cell
        const [nx, ny] = [(cx + 1) % side, (cy + 1) % side]
        const above = corners[cy * side + cx] * (1 - fx) + corners[cy * side + nx] * fx
        const below = corners[ny * side + cx] * (1 - fx) + corners[ny * side + nx] * fx
        tile[y * TILE + x] += strength * (above * (1 - fy) + below * fy)
      }
    }
  }
  return tile
}
