/**
 * Mixup and cutmix: a second pass over the finished rows of a batch, in place, with torchvision's arithmetic. One
 * share λ for all rows; each row's partner is the row before it, the first row's the last. Going from the last row
 * to the first, a row's partner is still untouched; only the last row, the first one's partner, is kept aside.
 */
import { DTYPES, type Dtype } from '../../../core/basics/dtype.js'
import { MillraceError } from '../../../core/basics/errors.js'
import type { Random } from '../../../core/basics/random.js'
import type { NormalOp } from '../../../core/define/types.js'
import { kernel } from '../../transform/kernels/load.js'
import { copyRows } from '../copy.js'

type Mix = (row: number, other: number, count: number, share: number, rest: number) => void

export interface MixKernel {
  mixF32: Mix
  mixF16: Mix
  mixBf16: Mix
  mixU8: Mix
}

const kernels: Partial<Record<Dtype, keyof MixKernel>> = {
  f32: 'mixF32',
  f16: 'mixF16',
  bf16: 'mixBf16',
  u8: 'mixU8',
}

/** The rows to be mixed, as byte offsets into the memory. */
export interface MixRows {
  memory: WebAssembly.Memory
  /** How many rows there are. */
  count: number
  /** The first image, and the bytes from one to the next; 0: images are mixed elsewhere, labels here. */
  imageAt: number
  rowBytes: number
  dtype: Dtype
  layout: 'chw' | 'hwc'
  /** Shape of one image, in its layout's order. */
  shape: readonly number[]
  /** The first label: rows of f32[classes], one-hot or already mixed. */
  labelAt: number
  classes: number
  /** Room for one image and one label. */
  spareAt: number
}

/** What is mixed: a share of the row itself, and, for cutmix, the box that comes from the partner. */
export interface Mixing {
  share: number
  box?: { x: number; y: number; width: number; height: number }
}

/** Bytes that `spareAt` must have. */
export function spareBytes(rowBytes: number, classes: number): number {
  return Math.ceil(rowBytes / 16) * 16 + classes * 4
}

/** Chooses λ and the box from `random`, keyed by the batch; undefined, with probability 1 - p: nothing is mixed. */
export function chooseMix(
  op: NormalOp,
  picture: Pick<MixRows, 'layout' | 'shape'>,
  random: Random,
): Mixing | undefined {
  const { p, alpha } = op.params as { p: number; alpha: number }
  if (random.next() >= p) return undefined
  const share = beta(alpha, random)
  const { width, height } = sizeOf(picture)
  return op.name === 'cutmix' ? cutting(share, width, height, random) : { share }
}

/** A box of area 1 - λ about a uniform point, clipped; λ becomes the share that the clipped box leaves. */
export function cutting(lambda: number, width: number, height: number, random: Random): Required<Mixing> {
  const [centreX, centreY] = [random.int(width), random.int(height)]
  const half = 0.5 * Math.sqrt(1 - lambda)
  const [halfWidth, halfHeight] = [Math.trunc(half * width), Math.trunc(half * height)]
  const x = Math.max(0, centreX - halfWidth)
  const y = Math.max(0, centreY - halfHeight)
  const box = {
    x,
    y,
    width: Math.min(width, centreX + halfWidth) - x,
    height: Math.min(height, centreY + halfHeight) - y,
  }
  return { share: 1 - (box.width * box.height) / (width * height), box }
}

/** Mixes every row with the one before it. */
export function mixRows({ share, box }: Mixing, rows: MixRows): void {
  const { memory, count, imageAt, rowBytes, labelAt, classes, spareAt } = rows
  if (count === 0) return
  const mix = kernel<MixKernel>('mix', memory)
  const labelBytes = classes * 4
  const spareLabel = spareAt + Math.ceil(rowBytes / 16) * 16
  const last = { image: imageAt + (count - 1) * rowBytes, label: labelAt + (count - 1) * labelBytes }
  copyRows(memory, { at: last.image, stride: 0 }, { at: spareAt, stride: 0 }, rowBytes, 1)
  copyRows(memory, { at: last.label, stride: 0 }, { at: spareLabel, stride: 0 }, labelBytes, 1)

  const mixImage =
    rowBytes === 0 ? () => {} : box === undefined ? blending(rows, share, mix) : pasting(rows, box)
  for (let i = count - 1; i >= 0; i--) {
    const image = imageAt + i * rowBytes
    const label = labelAt + i * labelBytes
    mixImage(image, i === 0 ? spareAt : image - rowBytes)
    mix.mixF32(label, i === 0 ? spareLabel : label - labelBytes, classes, share, 1 - share)
  }
}

/** Mixup: every element is blended. */
function blending({ dtype, shape }: MixRows, share: number, mix: MixKernel) {
  const name = kernels[dtype]
  if (name === undefined)
    throw new MillraceError(`mixup works on ${Object.keys(kernels).join(', ')}, not on ${dtype}`)
  const elements = shape.reduce((product, n) => product * n, 1)
  return (row: number, other: number) => mix[name](row, other, elements, share, 1 - share)
}

/** Cutmix: the box is copied from the partner. */
function pasting(rows: MixRows, box: Required<Mixing>['box']) {
  const { width, height, channels } = sizeOf(rows)
  const { bytes } = DTYPES[rows.dtype]
  const [planes, pixel] = rows.layout === 'chw' ? [channels, bytes] : [1, bytes * channels]
  const stride = width * pixel
  return (row: number, other: number) => {
    for (let plane = 0; plane < planes; plane++) {
      const start = (plane * height + box.y) * stride + box.x * pixel
      const [from, to] = [
        { at: other + start, stride },
        { at: row + start, stride },
      ]
      copyRows(rows.memory, from, to, box.width * pixel, box.height)
    }
  }
}

function sizeOf({ layout, shape }: Pick<MixRows, 'layout' | 'shape'>): {
  width: number
  height: number
  channels: number
} {
  const [channels, height, width] = layout === 'chw' ? shape : [shape[2], shape[0], shape[1]]
  return { width, height, channels }
}

// ------------------------------------------------------------------ the share

/** Beta(α, α), the distribution of a mixing share, from a keyed random source. */
export function beta(alpha: number, random: Random): number {
  return alpha <= 1 ? johnk(alpha, random) : fromGammas(alpha, random)
}

/**
 * Jöhnk (1964): two uniform numbers to the power 1/α, until their sum is at most 1. In logarithms, so that tiny α
 * don't underflow.
 */
function johnk(alpha: number, random: Random): number {
  for (;;) {
    const x = Math.log(1 - random.next()) / alpha
    const y = Math.log(1 - random.next()) / alpha
    // log(e^x + e^y), safely
    const sum = Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y)))
    if (sum <= 0) return Math.exp(x - sum)
  }
}

function fromGammas(alpha: number, random: Random): number {
  const x = gamma(alpha, random)
  return x / (x + gamma(alpha, random))
}

/** Marsaglia and Tsang (2000), for α ≥ 1: the cube of a shifted normal number, accepted nearly always. */
function gamma(alpha: number, random: Random): number {
  const d = alpha - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  for (;;) {
    const x = random.normal()
    const v = (1 + c * x) ** 3
    if (v > 0 && Math.log(1 - random.next()) < x * x * 0.5 + d - d * v + d * Math.log(v)) return d * v
  }
}
