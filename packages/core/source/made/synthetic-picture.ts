/**
 * Pictures that give a codec the work of a photograph: a slope of colour, a few discs with soft light on them, and
 * grain. Row i always gives the same picture. 224×224 at quality 90 is about 30 kB.
 */
import { Random } from '../../basics/random.js'
import { encodeJpeg } from '../../system/codecs/turbojpeg.js'

/** Side of the tile of grain, a power of two. It is made once and laid over each picture at another place. */
const TILE = 512
/** Standard deviation of the grain before it is softened, in steps of brightness. */
const GRAIN = 31
const DISCS = 6

let grain: Int8Array | undefined

export class PictureMaker {
  private readonly random = new Random()
  private readonly pixels: Uint8ClampedArray

  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly quality: number,
  ) {
    this.pixels = new Uint8ClampedArray(width * height * 3)
  }

  make(seed: number, row: number): Uint8Array {
    this.random.key(seed, 0, row, 0)
    this.slope()
    for (let i = 0; i < DISCS; i++) this.disc()
    this.addGrain()
    const { pixels, width, height } = this
    return encodeJpeg(new Uint8Array(pixels.buffer), width, height, this.quality)
  }

  /** A plane of each colour through three random corners. */
  private slope(): void {
    const { pixels, width, height, random } = this
    for (let c = 0; c < 3; c++) {
      const start = random.uniform(30, 220)
      const right = (random.uniform(30, 220) - start) / width
      const down = (random.uniform(30, 220) - start) / height
      for (let y = 0, at = c; y < height; y++) {
        let value = start + down * y
        for (let x = 0; x < width; x++, at += 3) {
          pixels[at] = value
          value += right
        }
      }
    }
  }

  /** A disc of one colour, lighter towards its centre. */
  private disc(): void {
    const { pixels, width, height, random } = this
    const radius = random.uniform(0.05, 0.3) * Math.min(width, height)
    const [cx, cy] = [random.uniform(0, width), random.uniform(0, height)]
    const [r, g, b] = [random.uniform(0, 200), random.uniform(0, 200), random.uniform(0, 200)]
    const top = Math.max(0, Math.ceil(cy - radius))
    const bottom = Math.min(height - 1, Math.floor(cy + radius))
    for (let y = top; y <= bottom; y++) {
      const half = Math.sqrt(radius * radius - (y - cy) ** 2)
      const from = Math.max(0, Math.ceil(cx - half))
      const to = Math.min(width - 1, Math.floor(cx + half))
      for (let x = from, at = (y * width + from) * 3; x <= to; x++, at += 3) {
        const light = 55 * (1 - ((x - cx) ** 2 + (y - cy) ** 2) / (radius * radius))
        pixels[at] = r + light
        pixels[at + 1] = g + light
        pixels[at + 2] = b + light
      }
    }
  }

  private addGrain(): void {
    const { pixels, width, height, random } = this
    grain ??= makeGrain()
    const left = random.int(TILE)
    const top = random.int(TILE)
    for (let y = 0, at = 0; y < height; y++) {
      const line = ((y + top) % TILE) * TILE
      for (let x = 0; x < width; x++, at += 3) {
        const g = grain[line + ((x + left) & (TILE - 1))]
        pixels[at] += g
        pixels[at + 1] += g
        pixels[at + 2] += g
      }
    }
  }
}

/** Noise, softened over neighbours so that its spectrum falls off as that of a lens does. */
function makeGrain(): Int8Array {
  const random = new Random().key(1, 0, 0, 3)
  const raw = Float32Array.from({ length: TILE * TILE }, () => GRAIN * random.normal())
  const out = new Int8Array(TILE * TILE)
  for (let y = 0; y < TILE; y++) {
    for (let x = 0; x < TILE; x++) {
      const right = y * TILE + ((x + 1) & (TILE - 1))
      const below = ((y + 1) & (TILE - 1)) * TILE
      out[y * TILE + x] = Math.max(
        -127,
        Math.min(
          127,
          (raw[y * TILE + x] + raw[right] + raw[below + x] + raw[below + ((x + 1) & (TILE - 1))]) / 2,
        ),
      )
    }
  }
  return out
}
