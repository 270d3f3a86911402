import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Dtype } from '../../../core/basics/dtype.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import type { Box, Picture } from '../../decode/picture/picture.js'
import { placePicture, type Target } from '../../transform/place/place.js'
import { compileValues } from '../../transform/place/values.js'
import * as twin from './twins/place.js'

const IMAGENET = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] }
const GUARD = 64 // bytes before and after the target that must stay as they are

/** A noise picture in the workspace, whose rows have `gap` bytes between them. */
function noise(work: Workspace, width: number, height: number, channels: 1 | 3, gap: number): Picture {
  const stride = width * channels + gap
  const at = work.take(stride * height)
  let state = (width * 7919 + height * 104729 + gap) >>> 0
  for (let i = 0; i < stride * height; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    work.u8[at + i] = state >>> 24
  }
  return { at, width, height, channels, stride }
}

const side = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 70 }))
const wish = fc.record({
  width: side,
  height: side,
  gap: fc.integer({ min: 0, max: 9 }),
  channels: fc.constantFrom<1 | 3>(1, 3),
  outWidth: side,
  outHeight: side,
  keepWidth: fc.boolean(),
  keepHeight: fc.boolean(),
  filter: fc.constantFrom('nearest', 'bilinear', 'bicubic'),
  antialias: fc.boolean(),
  horizontal: fc.boolean(),
  vertical: fc.boolean(),
  layout: fc.constantFrom<'chw' | 'hwc'>('chw', 'hwc'),
  dtype: fc.constantFrom<Dtype>('u8', 'f32', 'f16', 'bf16', 'i16', 'i32', 'f64', 'i64', 'bool'),
  window: fc.option(fc.record({ x: fc.nat(9), y: fc.nat(9), width: fc.nat(20), height: fc.nat(20) })),
  roomX: fc.integer({ min: 0, max: 5 }),
  roomY: fc.integer({ min: 0, max: 5 }),
  inset: fc.record({ x: fc.nat(3), y: fc.nat(3), right: fc.nat(3), bottom: fc.nat(3) }),
})

describe('the place kernel', () => {
  it('does what its plain twin does, and touches nothing else', () => {
    fc.assert(
      fc.property(wish, w => {
        const work = Workspace.alone(1 << 20)
        const source = noise(work, w.width, w.height, w.channels, w.gap)
        const x = Math.min(w.inset.x, w.width - 1)
        const y = Math.min(w.inset.y, w.height - 1)
        const box = {
          x,
          y,
          width: Math.max(1, w.width - x - w.inset.right),
          height: Math.max(1, w.height - y - w.inset.bottom),
        }
        const whole = {
          width: w.keepWidth ? box.width : w.outWidth,
          height: w.keepHeight ? box.height : w.outHeight,
          filter: w.filter as 'nearest',
          antialias: w.antialias,
        }
        const window = w.window && within(w.window, whole)
        const size = { ...whole, window: window ?? undefined }
        const made = window ?? whole
        const float = ['f32', 'f16', 'bf16', 'f64'].includes(w.dtype)
        const values = compileValues(w.dtype, w.channels, float ? IMAGENET : undefined)
        const room = { width: made.width + w.roomX, height: made.height + w.roomY }
        const bytes = room.width * room.height * w.channels * values.entry
        const at = work.take(bytes + 2 * GUARD) + GUARD
        const target: Target = { at, layout: w.layout, values, ...room }
        const area = work.u8.subarray(at - GUARD, at + bytes + GUARD)

        twin.placePicture(work.u8, source, box, size, w, target)
        const wanted = area.slice()
        area.forEach((byte, i) => {
          area[i] = byte ^ 0x5a
        })
        const before = area.slice()
        placePicture(work, source, box, size, w, target)
        const inside = covered(target, made, w.channels, bytes)
        for (let i = 0; i < area.length; i++) {
          const right = inside[i] ? wanted[i] : before[i]
          if (area[i] !== right) {
            throw new Error(
              `byte ${i - GUARD} of ${bytes} is ${area[i]}, not ${right} (inside: ${inside[i]})`,
            )
          }
        }
      }),
    )
  })

  it('handles large ratios and long rows', () => {
    for (const [width, height, outWidth, outHeight] of [
      [1000, 3, 20, 1],
      [3, 1000, 1, 20],
      [640, 480, 224, 224],
      [150, 131, 224, 224],
      [1, 1, 300, 200],
      [7, 5, 333, 2],
    ]) {
      for (const filter of ['nearest', 'bilinear', 'bicubic'] as const) {
        for (const layout of ['chw', 'hwc'] as const) {
          const work = Workspace.alone(1 << 20)
          const source = noise(work, width, height, 3, 0)
          const box = { x: 0, y: 0, width, height }
          const size = { width: outWidth, height: outHeight, filter, antialias: true }
          const flips = { horizontal: true, vertical: false }
          const bytes = outWidth * outHeight * 3
          const at = work.take(bytes)
          const target: Target = {
            at,
            layout,
            values: compileValues('u8', 3),
            width: outWidth,
            height: outHeight,
          }
          twin.placePicture(work.u8, source, box, size, flips, target)
          const wanted = work.u8.slice(at, at + bytes)
          work.u8.fill(0, at, at + bytes)
          placePicture(work, source, box, size, flips, target)
          expect(Buffer.compare(work.u8.slice(at, at + bytes), wanted)).toBe(0)
        }
      }
    }
  })
})

/** The part of a wished window that a picture has. */
function within(window: Box, { width, height }: { width: number; height: number }): Box {
  const x = Math.min(window.x, width - 1)
  const y = Math.min(window.y, height - 1)
  return {
    x,
    y,
    width: Math.max(1, Math.min(window.width, width - x)),
    height: Math.max(1, Math.min(window.height, height - y)),
  }
}

/** Which bytes of the guarded area the picture covers. */
function covered(
  target: Target,
  size: { width: number; height: number },
  channels: number,
  bytes: number,
): Uint8Array {
  const mask = new Uint8Array(bytes + 2 * GUARD)
  const { entry } = target.values
  for (let y = 0; y < size.height; y++) {
    for (let x = 0; x < size.width; x++) {
      for (let c = 0; c < channels; c++) {
        const element =
          target.layout === 'chw'
            ? (c * target.height + y) * target.width + x
            : (y * target.width + x) * channels + c
        mask.fill(1, GUARD + element * entry, GUARD + (element + 1) * entry)
      }
    }
  }
  return mask
}
