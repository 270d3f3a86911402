/** Applies steps that change values: colours by table or kernel in place, sharpness and blur into a new picture. */

import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from '../../decode/picture/picture.js'
import { kernel } from '../kernels/load.js'
import type { ColorStep } from '../steps.js'
import { applyBlur, applySharpness } from './filter.js'
import * as lookups from './lookups.js'

export interface ColorKernel {
  table(at: number, stride: number, bytes: number, height: number, table: number): void
  tables(at: number, stride: number, width: number, height: number, tables: number): void
  histogram(at: number, stride: number, width: number, height: number, channels: number, counts: number): void
  grayscale(at: number, stride: number, width: number, height: number): void
  saturation(at: number, stride: number, width: number, height: number, factor: number, rest: number): void
  hue(at: number, stride: number, width: number, height: number, sixths: number): void
  permute(
    at: number,
    stride: number,
    width: number,
    height: number,
    first: number,
    second: number,
    third: number,
  ): void
  luminanceSum(at: number, stride: number, width: number, height: number): number
}

/** Does one step; the picture that comes back may be the same one, changed. */
export function applyColor(step: ColorStep, picture: Picture, work: Workspace): Picture {
  if (step.do === 'blur') return applyBlur(step, picture, work)
  if (step.do === 'sharpness') return applySharpness(step.factor, picture, work)
  const { at, stride, width, height, channels } = picture
  const run = kernel<ColorKernel>('color', work.memory)
  switch (step.do) {
    case 'grayscale':
      if (channels === 3) run.grayscale(at, stride, width, height)
      break
    case 'saturation':
      if (channels === 3) run.saturation(at, stride, width, height, step.factor, 1 - step.factor)
      break
    case 'hue':
      if (channels === 3) run.hue(at, stride, width, height, step.factor * 6)
      break
    case 'permute': {
      const [first, second, third] = step.order
      if (channels === 3) run.permute(at, stride, width, height, first, second, third)
      break
    }
    case 'autocontrast':
      byHistogram(lookups.autocontrast, picture, work, run)
      break
    case 'equalize':
      byHistogram(lookups.equalize, picture, work, run)
      break
    case 'brightness':
      byTable(table => lookups.brightness(table, step.factor), picture, work, run)
      break
    case 'contrast': {
      const mean = meanLuminance(picture, work, run)
      byTable(table => lookups.contrast(table, step.factor, 1 - step.factor, mean), picture, work, run)
      break
    }
    case 'invert':
      byTable(lookups.invert, picture, work, run)
      break
    case 'posterize':
      byTable(table => lookups.posterize(table, step.bits), picture, work, run)
      break
    case 'solarize':
      byTable(table => lookups.solarize(table, step.threshold), picture, work, run)
      break
    default:
      step.do satisfies never
  }
  return picture
}

/** One table for all channels. */
function byTable(fill: (table: Uint8Array) => void, picture: Picture, work: Workspace, run: ColorKernel) {
  const mark = work.mark()
  const table = work.take(256)
  fill(work.u8.subarray(table, table + 256))
  run.table(picture.at, picture.stride, picture.width * picture.channels, picture.height, table)
  work.release(mark)
}

/** A table for each channel, from its histogram. */
function byHistogram(
  fill: (table: Uint8Array, counts: Uint32Array) => void,
  { at, stride, width, height, channels }: Picture,
  work: Workspace,
  run: ColorKernel,
) {
  const mark = work.mark()
  const counts = work.take(channels * 1024)
  const table = work.take(channels * 256)
  run.histogram(at, stride, width, height, channels, counts)
  for (let c = 0; c < channels; c++) {
    const from = table + c * 256
    fill(work.u8.subarray(from, from + 256), new Uint32Array(work.memory.buffer, counts + c * 1024, 256))
  }
  if (channels === 3) run.tables(at, stride, width, height, table)
  else run.table(at, stride, width, height, table)
  work.release(mark)
}

function meanLuminance(picture: Picture, work: Workspace, run: ColorKernel): number {
  const { at, stride, width, height, channels } = picture
  if (channels === 3) return run.luminanceSum(at, stride, width, height) / (width * height)
  let sum = 0
  for (let y = 0; y < height; y++) {
    const row = at + y * stride
    for (let i = row; i < row + width; i++) sum += work.u8[i]
  }
  return sum / (width * height)
}
