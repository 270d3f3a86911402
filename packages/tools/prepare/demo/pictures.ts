/**
 * Paints the demo's pictures: layers of cloudy noise between two colours of the class, a few discs, fine grain.
 * The grain is what gives the files the size of photographs (about 30 kB). Runs in threads.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashText, Random } from '../../../core/basics/random.js'
import { encodeJpeg } from '../../../core/system/codecs/turbojpeg.js'
import type { Handler } from '../../../core/system/node/threads.js'

export interface DemoSetup {
  folder: string
  classes: string[]
}

const SEED = 20_26
const QUALITY = 92
const LEAST_SIDE = 224
const MOST_SIDE = 256
/** Side of the noise tile, a power of two: looked up at several scales and offsets. */
const TILE = 256

/** Pictures `begin`…`end`−1; picture i belongs to class i modulo the number of classes. */
export function demoPainter({ folder, classes }: DemoSetup): Handler<{ begin: number; end: number }, number> {
  const tile = noiseTile()
  const rgb = new Uint8Array(MOST_SIDE * MOST_SIDE * 3)
  return ({ begin, end }, report) => {
    for (let i = begin; i < end; i++) {
      const label = i % classes.length
      const number = Math.floor(i / classes.length)
      const random = new Random().key(SEED, 0, i, hashText('demo'))
      const width = LEAST_SIDE + random.int(MOST_SIDE - LEAST_SIDE + 1)
      const height = LEAST_SIDE + random.int(MOST_SIDE - LEAST_SIDE + 1)
      paint(rgb, width, height, label / classes.length, tile, random)
      const name = `${String(number).padStart(4, '0')}.jpg`
      writeFileSync(join(folder, classes[label], name), encodeJpeg(rgb, width, height, QUALITY))
    }
    report(end - begin)
    return end - begin
  }
}

/** White noise smoothed at several scales, values about −1…1; the same in every thread. */
function noiseTile(): Float32Array {
  const random = new Random().key(SEED, 0, 0, hashText('tile'))
  const tile = new Float32Array(TILE * TILE)
  for (let cell = 64; cell >= 2; cell >>= 1) {
    const side = TILE / cell
    const corners = Float32Array.from({ length: side * side }, () => random.uniform(-1, 1))
    const strength = cell / 128
    for (let y = 0; y < TILE; y++) {
      for (let x = 0; x < TILE; x++) {
        const [cx, cy] = [Math.floor(x / cell), Math.floor(y / cell)]
        const [fx, fy] = [(x % cell) / cell, (y % cell) / cell]
        const [nx, ny] = [(cx + 1) % side, (cy + 1) % side]
        const top = corners[cy * side + cx] * (1 - fx) + corners[cy * side + nx] * fx
        const bottom = corners[ny * side + cx] * (1 - fx) + corners[ny * side + nx] * fx
        tile[y * TILE + x] += strength * (top * (1 - fy) + bottom * fy)
      }
    }
  }
  return tile
}

function paint(
  rgb: Uint8Array,
  width: number,
  height: number,
  hue: number,
  tile: Float32Array,
  random: Random,
): void {
  const dark = colour(hue + random.uniform(-0.04, 0.04), random.uniform(0.12, 0.3))
  const light = colour(hue + random.uniform(0.08, 0.2), random.uniform(0.7, 0.95))
  const [ox, oy, px, py] = [random.int(TILE), random.int(TILE), random.int(TILE), random.int(TILE)]
  const slope = random.uniform(-0.6, 0.6)
  const grain = random.uniform(28, 52)
  const discs = Array.from({ length: 3 + random.int(4) }, () => ({
    x: random.uniform(0, width),
    y: random.uniform(0, height),
    radius: random.uniform(12, 60),
    lift: random.uniform(-0.5, 0.5),
  }))
  let at = 0
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      let mix = 0.5 + slope * (y / height - 0.5)
      mix += 0.7 * tile[((y + oy) & (TILE - 1)) * TILE + ((x + ox) & (TILE - 1))]
      mix += 0.35 * tile[((3 * y + py) & (TILE - 1)) * TILE + ((3 * x + px) & (TILE - 1))]
      for (const disc of discs) {
        const [dx, dy] = [x - disc.x, y - disc.y]
        if (dx * dx + dy * dy < disc.radius * disc.radius) mix += disc.lift
      }
      mix = Math.min(1, Math.max(0, mix))
      const speck = grain * ((random.bits() >>> 8) / 16777216 - 0.5)
      for (let c = 0; c < 3; c++) {
        const value = dark[c] + (light[c] - dark[c]) * mix + speck
        rgb[at++] = Math.min(255, Math.max(0, value))
      }
    }
  }
}

/** A colour of a hue (in turns) and a brightness 0…1, of medium saturation. */
function colour(hue: number, brightness: number): [number, number, number] {
  const channel = (shift: number) => {
    const wave = Math.abs(((((hue + shift) % 1) + 1) % 1) * 2 - 1) // 1 … 0 … 1 around the circle
    return 255 * brightness * (0.45 + 0.55 * wave)
  }
  return [channel(0), channel(1 / 3), channel(2 / 3)]
}
