/** Steps in which each byte becomes what a table of 256 says: most colour changes are no more than that. */
import type { Workspace } from '../../core/system/memory/workspace.js'
import type { Picture } from '../decode/picture/picture.js'
import { type ColorKernel, colorKernel } from './color-kernel.js'
import { type AnyStep, type StepFacts, step, type Table } from './step.js'

const NONE = new Uint32Array(0)

/** Clamped to a byte, rounded towards zero. */
export function toByte(x: number): number {
  return x <= 0 ? 0 : x >= 255 ? 255 : Math.trunc(x)
}

export function tableStep<S extends AnyStep>(name: S['do'], code: number, table: Table<S>): StepFacts<S> {
  const { numbers = () => [], whole = false, looksAt, value } = table
  return step<S>({
    do: name,
    code,
    table,
    args: step => (whole ? numbers(step) : numbers(step).map(f32 => ({ f32 }))),
    run(step, picture, work) {
      const run = colorKernel(work)
      if (looksAt === 'place') byPlace(value(numbers(step), 0, NONE), picture, work)
      else if (looksAt === 'counts')
        byHistogram(counts => value(numbers(step), 0, counts), picture, work, run)
      else {
        const mean = looksAt === 'mean' ? meanLuminance(picture, work, run) : 0
        byTable(value(numbers(step), mean, NONE), picture, work, run)
      }
      return picture
    },
  })
}

type Value = ReturnType<Table<AnyStep>['value']>

function fill(table: Uint8Array, value: Value): void {
  for (let x = 0; x < 256; x++) table[x] = value(x, 0)
}

/** One table for all channels. */
function byTable(value: Value, picture: Picture, work: Workspace, run: ColorKernel) {
  const mark = work.mark()
  const table = work.take(256)
  fill(work.u8.subarray(table, table + 256), value)
  run.table(picture.at, picture.stride, picture.width * picture.channels, picture.height, table)
  work.release(mark)
}

/** A table for each channel, from its histogram. */
function byHistogram(
  value: (counts: Uint32Array) => Value,
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
    fill(
      work.u8.subarray(from, from + 256),
      value(new Uint32Array(work.memory.buffer, counts + c * 1024, 256)),
    )
  }
  if (channels === 3) run.tables(at, stride, width, height, table)
  else run.table(at, stride, width, height, table)
  work.release(mark)
}

function byPlace(value: Value, { at, stride, width, height, channels }: Picture, { u8 }: Workspace): void {
  for (let y = 0, place = 0; y < height; y++) {
    const row = at + y * stride
    for (let i = row; i < row + width * channels; i++, place++) u8[i] = value(u8[i], place)
  }
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
