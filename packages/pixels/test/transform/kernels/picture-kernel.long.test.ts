/** The picture kernel itself, compiled for the CPU, against its twin: every op, and blocks of one and of many threads. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { launch, pictureArguments } from '../../../../../bench/gpu/launch.mjs'
import {
  compileKernels,
  type Launch,
  type Sanitizer,
  withoutCompiler,
} from '../../../../../test/support/gpu/cuda-host.js'
import {
  examples,
  type PictureCase,
  pictureCase,
  type Wish,
  wishes,
} from '../../../../../test/support/gpu/picture-cases.js'
import { DTYPES } from '../../../../core/basics/dtype.js'
import { OP_CODES } from '../../../operators/steps.js'
import { HEADER_WORDS, OP_WORDS, Word } from '../../../transform/device/parameter-words.js'
import { makePicture } from '../twins/picture.js'

/** The case as a launch of three rows, of which the second is nothing. */
function launchOf({ row, stored, form }: PictureCase, blocks: number, threads: number): Launch {
  const { bytes } = DTYPES[form.dtype]
  const nothing = new Uint32Array(row.length)
  const pictures = [stored, undefined, stored]
  const args = pictureArguments([row, nothing, row], pictures, { ...form, bytes })
  return { bytes: launch('picture', blocks, threads, args), size: 9 * form.width * form.height * bytes }
}

function expected({ row, stored, form }: PictureCase): Buffer {
  const made = makePicture(row, stored, form)
  return Buffer.concat([made, new Uint8Array(made.length), made])
}

const opsOf = (row: Uint32Array) =>
  Array.from({ length: row[Word.Ops] }, (_, i) => row[HEADER_WORDS + i * OP_WORDS])

/** Noise in f64 shows the last bits of logarithm and cosine, which no two libraries have in common. */
const shows = ({ form, steps }: PictureCase) =>
  form.dtype === 'f64' && steps.some(step => step.do === 'erase' && step.value === 'random')

function compare(made: Buffer, of: PictureCase): void {
  const wanted = expected(of)
  if (shows(of)) {
    const [a, b] = [made, wanted].map(bytes => new Float64Array(Uint8Array.from(bytes).buffer))
    for (const [i, value] of a.entries()) expect(value).toBeCloseTo(b[i], 12)
  } else expect(Buffer.compare(made, wanted), JSON.stringify(of.steps)).toBe(0)
}

const plain = { normal: true, erasing: [], dtype: 'f32', layout: 'chw', spare: [0, 0], flat: false } as const
/** Pictures that are blurred or shrunk in several parts, or by many taps. */
const large: Wish[] = [
  {
    width: 1900,
    height: 5,
    orientation: 3,
    pixels: [{ gaussianBlur: { kernel: [255, 5], sigma: 30 } }],
  },
  {
    width: 3,
    height: 700,
    orientation: 6,
    pixels: [{ gaussianBlur: { kernel: [3, 255], sigma: 30 } }],
  },
  {
    width: 301,
    height: 203,
    orientation: 8,
    pixels: [{ resize: { size: [40, 31], filter: 'bicubic' } }, { centerCrop: [17, 20] }],
  },
  { width: 40, height: 3900, orientation: 1, pixels: [{ resize: { size: [2, 37] } }] },
  { width: 1900, height: 60, orientation: 1, pixels: [{ resize: { size: [9, 1500] } }] },
].map((wish, position) => ({ ...plain, erasing: [], ...wish, position }))

describe.skipIf(withoutCompiler)(`the picture kernel${withoutCompiler ? `: ${withoutCompiler}` : ''}`, () => {
  it.each<[Sanitizer, number, number]>([
    ['address', 200, 1],
    ['thread', 100, 3],
  ])('makes what its twin makes, under the %s sanitizer', (sanitizer, count, threads) => {
    const run = compileKernels(sanitizer)
    const cases = [...fc.sample(wishes, { seed: 12, numRuns: count }), ...large, ...examples].map(pictureCase)
    const codes = new Set(cases.flatMap(({ row }) => opsOf(row)))
    expect([...codes].sort((a, b) => a - b)).toEqual(Object.values(OP_CODES))
    const made = run(cases.map((of, i) => launchOf(of, 1 + (i % 3), threads)))
    for (const [i, of] of cases.entries()) compare(made[i], of)
  })
})
