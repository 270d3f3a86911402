/** Resize and values against torchvision's results, by the kernel and by its twin. */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Dtype } from '../../../core/basics/dtype.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import type { Filter } from '../../operators/step.js'
import { placePicture } from '../../transform/place/place.js'
import { compileValues, EMIT } from '../../transform/place/values.js'
import { put } from './pictures.js'
import * as twin from './twins/place.js'

interface Stored {
  at: number
  width: number
  height: number
  channels: 1 | 3
}
interface Case {
  input: string
  width: number
  height: number
  filter: Filter
  antialias: boolean
  at: number
}
interface Golden {
  inputs: Record<string, Stored>
  cases: Case[]
  values: { name: string; dtype: Dtype; mean: number[] | null; std: number[] | null; at: number }[]
}

const folder = new URL('../../../../test/golden/resize/', import.meta.url)
const golden: Golden = JSON.parse(readFileSync(new URL('cases.json', folder), 'utf8'))
const bytes = new Uint8Array(readFileSync(new URL('bytes.bin', folder)))

const NO_FLIPS = { horizontal: false, vertical: false }

describe('resize equals torchvision', () => {
  for (const c of golden.cases) {
    const input = golden.inputs[c.input]
    const length = c.width * c.height * input.channels
    const wanted = bytes.subarray(c.at, c.at + length)
    const name = `${c.input} ${input.width}×${input.height} to ${c.width}×${c.height}, ${c.filter}`
    it(`${name}${c.antialias ? ', antialiased' : ''}`, () => {
      const work = Workspace.alone()
      const pixels = bytes.subarray(input.at, input.at + input.width * input.height * input.channels)
      const source = put(work, input, pixels, 5)
      const at = work.take(length)
      const box = { x: 0, y: 0, width: input.width, height: input.height }
      const target = {
        ...({ at, layout: 'hwc', width: c.width, height: c.height } as const),
        values: compileValues('u8', input.channels),
      }
      for (const place of [
        () => placePicture(work, source, box, c, NO_FLIPS, target),
        () => twin.placePicture(work.u8, source, box, c, NO_FLIPS, target),
      ]) {
        work.u8.fill(0, at, at + length)
        place()
        expect(worst(work.u8.subarray(at, at + length), wanted)).toEqual({ greatest: 0, different: 0 })
      }
    })
  }
})

/** The greatest difference, and how many values differ. */
function worst(a: Uint8Array, b: Uint8Array) {
  let greatest = 0
  let different = 0
  for (let i = 0; i < a.length; i++) {
    const by = Math.abs(a[i] - b[i])
    greatest = Math.max(greatest, by)
    if (by > 0) different++
  }
  return { greatest, different }
}

describe('values equal torchvision, bit for bit', () => {
  for (const { name, dtype, mean, std, at } of golden.values) {
    const values = compileValues(dtype, 3, mean && std ? { mean, std } : undefined)
    const wanted = bytes.slice(at, at + 3 * 256 * values.entry)
    it(`${name}, ${dtype}`, () => {
      expect(values.lookup).toEqual(wanted)
      // The kernel, over a picture of three channels that holds every byte.
      const work = Workspace.alone()
      const ramp = Uint8Array.from({ length: 768 }, (_, i) => Math.floor(i / 3))
      const source = put(work, { width: 256, height: 1, channels: 3 }, ramp)
      const to = work.take(wanted.length)
      const box = { x: 0, y: 0, width: 256, height: 1 }
      const size = { width: 256, height: 1, filter: 'nearest', antialias: false } as const
      const target = { at: to, layout: 'chw', values, width: 256, height: 1 } as const
      placePicture(work, source, box, size, NO_FLIPS, target)
      expect(work.u8.slice(to, to + wanted.length)).toEqual(wanted)
    })
  }

  it('takes a multiplication for a division only where it is the same', () => {
    const half = compileValues('f32', 3, { mean: [0.5], std: [0.5] })
    const imagenet = compileValues('f32', 3, { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] })
    expect([compileValues('f32', 3).emit, half.emit, imagenet.emit]).toEqual([
      ...[EMIT.multiply, EMIT.multiply, EMIT.divide],
    ])
  })
})
