/** How mistakes in a definition are said: where, what was expected, what was found, and which known name is nearest. */
import { DefinitionError, nearest } from './errors.js'

/** `fields.image` + `apply` → `fields.image.apply`; + 0 → `fields.image[0]`; odd names are quoted. */
export function at(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`
  if (!/^[\w$-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === '' ? key : `${path}.${key}`
}

/** A value as it is shown in a message: JSON, cut to a line. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'bigint') return `${value}n`
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

export function wrong(path: string, expected: string, found: unknown): DefinitionError {
  return new DefinitionError(path, `expected ${expected}, found ${show(found)}`)
}

/**
 * What torchvision calls parameters, in small letters without `_`, and what they are called here. Operators add their own names
 * (`addNames`); behind a comma, what has to be given.
 */
export const TORCHVISION: Readonly<Record<string, string>> = {
  interpolation: 'filter',
  paddingmode: 'mode',
  kernelsize: 'kernel',
  distortionscale: 'distortion',
  numops: 'ops',
  nummagnitudebins: 'bins',
  siderange: 'sides',
  targetsize: 'size',
  scalerange: 'scale',
  numclasses: 'classes',
}

/** The same of NumPy, PyTorch and pandas. */
const ELSEWHERE = new Map(
  Object.entries({
    ...TORCHVISION,
    uint8: 'u8',
    int8: 'i8',
    uint16: 'u16',
    int16: 'i16',
    int32: 'i32',
    uint32: 'u32',
    int64: 'i64',
    float16: 'f16',
    bfloat16: 'bf16',
    float32: 'f32',
    float64: 'f64',
    str: 'text',
    string: 'text',
    integer: 'int',
    array: 'npy',
    ndarray: 'npy',
    numpy: 'npy',
    tensor: 'npy',
    picture: 'image',
    jpeg: 'image',
    bbox: 'boxes',
    bboxes: 'boxes',
    keypoints: 'points',
    category: 'class',
    categorical: 'class',
    '=>': '>=',
    '=<': '<=',
    '==': '=',
    '<>': '!=',
  }),
)

/** Adds such names: what others call a thing, in small letters without `_`, and what it is called here. */
export function addNames(names: Readonly<Record<string, string>>): void {
  for (const [theirs, ours] of Object.entries(names)) ELSEWHERE.set(theirs, ours)
}

/** An unknown name among known ones, with the nearest of them; where none is near, with all of them and `otherwise`. */
export function unknownName(
  path: string,
  what: string,
  name: string,
  known: readonly string[],
  otherwise = '',
): DefinitionError {
  const [called, more = ''] = (ELSEWHERE.get(name.replaceAll('_', '').toLowerCase()) ?? '').split(/(?=,)/)
  if (known.includes(called))
    return new DefinitionError(path, `unknown ${what} ${show(name)}; it is called "${called}" here${more}`)
  const near = nearest(name, known)
  const hint = near === undefined ? `known: ${known.join(', ')}${otherwise}` : `did you mean "${near}"?`
  return new DefinitionError(path, `unknown ${what} ${show(name)}; ${hint}`)
}
