/** The kernel `color`, and steps that are one call of it. */
import type { Workspace } from '../../core/system/memory/workspace.js'
import { kernel } from '../transform/kernels/load.js'
import { type AnyStep, type Arg, type StepFacts, step } from './step.js'

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

export const colorKernel = (work: Workspace): ColorKernel => kernel<ColorKernel>('color', work.memory)

type Pixels = readonly [at: number, stride: number, width: number, height: number]

/** A step that changes the colours of each pixel by itself, in place: pictures of one channel stay as they are. */
export function colorStep<S extends AnyStep>(
  name: S['do'],
  code: number,
  args: (step: S) => readonly Arg[],
  run: (color: ColorKernel, step: S, pixels: Pixels) => void,
): StepFacts<S> {
  return step<S>({
    do: name,
    code,
    args,
    run(step, picture, work) {
      const { at, stride, width, height, channels } = picture
      if (channels === 3) run(colorKernel(work), step, [at, stride, width, height])
      return picture
    },
  })
}
