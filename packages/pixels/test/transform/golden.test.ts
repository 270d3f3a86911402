/** Every case of test/golden/transforms: what we make of a picture against what torchvision made of it. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Random } from '../../../core/basics/random.js'
import { normalOps } from '../../../core/define/operator.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from '../../decode/picture/picture.js'
import { affineStep } from '../../operators/affine/step.js'
import { type Change, changeAt, SPACES } from '../../operators/augment/changes.js'
import { chooseSteps } from '../../operators/choose.js'
import { perspectiveTo } from '../../operators/perspective/operator.js'
import type { Filter } from '../../operators/step.js'
import type { Step } from '../../operators/steps.js'
import { applyStep } from '../../operators/steps.js'
import { bytesOf, put } from './pictures.js'

const folder = new URL('../../../../test/golden/transforms/', import.meta.url)

interface Stored {
  file: string
  width: number
  height: number
  channels: 1 | 3
}

interface Case {
  name: string
  input: string
  ops?: { name: string; params: Record<string, unknown> }[]
  affine?: {
    angle: number
    translate: [number, number]
    scale: number
    shear: [number, number]
    center?: [number, number]
    filter: Filter
    fill: number[]
  }
  /** A change of AutoAugment's, with the sign that a coin of 0 gives. */
  augment?: { change: Change; bin: number; bins: number; filter: Filter; fill: number[] | null }
  step?: Step
  /** Where the picture's corners come to lie in a perspective. */
  corners?: [number, number][]
  output: Stored
}

const golden: { inputs: Record<string, Stored>; cases: Case[] } = JSON.parse(
  readFileSync(new URL('cases.json', folder), 'utf8'),
)

function stepsOf({ ops, affine, augment, step }: Case, { width, height }: Stored): Step[] {
  if (step !== undefined) return [step]
  if (augment !== undefined) {
    const { change, bin, bins, filter, fill } = augment
    const how = { size: { width, height }, filter, fill }
    return changeAt(SPACES.policy, change, bin, bins, how, () => 0) as Step[]
  }
  if (affine === undefined) {
    const normal = normalOps(
      ops!.map(({ name, params }) => ({ [name]: params })),
      'apply',
    )
    return chooseSteps(normal, { width, height }, () => new Random().key(1, 2, 3, 4))
  }
  const { center, filter, fill, ...moves } = affine
  const centre: [number, number] = center ? [center[0] - width / 2, center[1] - height / 2] : [0, 0]
  return [affineStep({ ...moves, centre }, { width, height }, filter, fill)]
}

function apply(step: Step, picture: Picture, work: Workspace): Picture {
  switch (step.do) {
    case 'flip':
      return flipped(step.axis, picture, work)
    case 'resize':
    case 'normalize':
    case 'erase':
      throw new Error(`no golden case has ${step.do}`)
    default:
      return applyStep(step, picture, work)
  }
}

/** The image program flips on the way into the slot; here it is done pixel by pixel. */
function flipped(axis: 'horizontal' | 'vertical', picture: Picture, work: Workspace): Picture {
  const { width, height, channels } = picture
  const before = bytesOf(picture, work)
  const after = before.map((_, i) => {
    const [c, x, y] = [i % channels, Math.floor(i / channels) % width, Math.floor(i / channels / width)]
    const [fx, fy] = axis === 'horizontal' ? [width - 1 - x, y] : [x, height - 1 - y]
    return before[(fy * width + fx) * channels + c]
  })
  return put(work, { width, height, channels }, after)
}

/** Equal but for the rounding of float32. */
function closeTo(ours: readonly number[] | undefined, theirs: readonly number[]): boolean {
  return theirs.every((value, i) => Math.abs(ours![i] - value) <= 1e-6 * Math.max(1e-3, Math.abs(value)))
}

/** Mean and greatest difference, in levels of 255. */
function difference(a: Uint8Array, b: Uint8Array) {
  let [sum, most] = [0, 0]
  for (let i = 0; i < a.length; i++) {
    const d = Math.abs(a[i] - b[i])
    sum += d
    if (d > most) most = d
  }
  return { mean: sum / a.length, most }
}

describe('golden pictures of torchvision', () => {
  it('has a case for every stored picture', () => {
    const stored = readdirSync(folder).filter(file => file.endsWith('.bin'))
    const known = [...Object.values(golden.inputs), ...golden.cases.map(({ output }) => output)]
    expect(stored.sort()).toEqual(known.map(({ file }) => file).sort())
  })

  it.each(golden.cases.map(it => [it.name, it] as const))('%s', (_, it) => {
    const input = golden.inputs[it.input]
    const pixels = readFileSync(new URL(input.file, folder))
    const expected = readFileSync(new URL(it.output.file, folder))
    const work = Workspace.alone()
    // A stride with a gap: pictures are often windows of larger ones.
    let picture = put(work, input, pixels, 7)
    for (const step of stepsOf(it, input)) picture = apply(step, picture, work)
    expect([picture.width, picture.height]).toEqual([it.output.width, it.output.height])
    const { mean, most } = difference(bytesOf(picture, work), expected)
    if (it.corners !== undefined && it.step?.do === 'perspective')
      expect(closeTo(perspectiveTo(it.corners, input), it.step.coefficients)).toBe(true)
    if (process.env.GOLDEN_REPORT && most > 0) console.log(it.name, mean.toFixed(4), most)
    expect(most).toBeLessThanOrEqual(1)
    expect(mean).toBeLessThanOrEqual(0.02)
  })
})
