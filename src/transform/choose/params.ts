/** Reading an operator's parameters: a number or a list where either may stand, as torchvision allows. */
import { MillraceError } from '../../errors.js'
import type { Filter } from '../steps.js'

type Params = Record<string, unknown>

function wrong(name: string, expected: string, value: unknown): never {
  throw new MillraceError(`parameter "${name}" must be ${expected}, not ${JSON.stringify(value)}`)
}

export function number(params: Params, name: string): number {
  const value = params[name]
  return typeof value === 'number' ? value : wrong(name, 'a number', value)
}

/** A list of numbers; a single number is a list of one. */
export function numbers(params: Params, name: string): number[] {
  const value = params[name]
  if (typeof value === 'number') return [value]
  if (Array.isArray(value) && value.every(item => typeof item === 'number')) return value
  return wrong(name, 'a number or a list of numbers', value)
}

/** Absent or null, which torchvision calls None. */
export function missing(params: Params, name: string): boolean {
  return params[name] === undefined || params[name] === null
}

/** Two numbers; a single one stands for both. */
export function pair(params: Params, name: string): [number, number] {
  const value = numbers(params, name)
  return [value[0], value[value.length - 1]]
}

/** A size [h, w]; a single number is a square. */
export function square(params: Params, name: string): { width: number; height: number } {
  const [height, width] = pair(params, name)
  return { width, height }
}

/** A range of degrees; a single number d is -d … d. */
export function degrees(params: Params, name: string): number[] {
  const value = params[name]
  return typeof value === 'number' ? [-value, value] : numbers(params, name)
}

/** Padding as [left, top, right, bottom], from one, two (sides, top and bottom) or four numbers. */
export function sides(params: Params, name: string): [number, number, number, number] {
  if (missing(params, name)) return [0, 0, 0, 0]
  const [left, top = left, right = left, bottom = top] = numbers(params, name)
  return [left, top, right, bottom]
}

/** A fill colour: one value for all channels or one each. None given is an empty list. */
export function fill(params: Params): number[] {
  return missing(params, 'fill') ? [] : numbers(params, 'fill')
}

export function filter(params: Params): Filter {
  const value = params.filter
  return value === 'nearest' || value === 'bilinear' || value === 'bicubic'
    ? value
    : wrong('filter', '"nearest", "bilinear" or "bicubic"', value)
}

export type PadMode = 'constant' | 'edge' | 'reflect' | 'symmetric'

export function padMode(params: Params): PadMode {
  const value = params.mode
  return value === 'constant' || value === 'edge' || value === 'reflect' || value === 'symmetric'
    ? value
    : wrong('mode', '"constant", "edge", "reflect" or "symmetric"', value)
}

/** Rounds halves to the even neighbour, as Python and torch do. */
export function roundEven(x: number): number {
  const floor = Math.floor(x)
  const rest = x - floor
  if (rest !== 0.5) return Math.round(x)
  return floor % 2 === 0 ? floor : floor + 1
}
