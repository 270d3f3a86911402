// The operators as methods of Python, from the engine's own table, so that Python can't drift from it.

const TABLE = 'packages/core/define/operators/table.ts'
const FIELDS = 'packages/core/define/build/fields.ts'
/** What the decorators and types of the methods come from. */
const BASE = '.._define.operator'
const WIDTH = 110

/** Python's type of each parameter, by its name; those of one operator alone have its name and a dot in front. */
const TYPES = {
  size: 'Size',
  filter: 'Filter',
  antialias: 'bool',
  maxSize: 'Optional[int]',
  padding: 'Union[int, Sequence[int]]',
  padIfNeeded: 'bool',
  fill: 'Channels',
  mode: 'Mode',
  scale: 'Sequence[float]',
  ratio: 'Sequence[float]',
  p: 'float',
  axis: 'Axis',
  degrees: 'Spread',
  expand: 'bool',
  translate: 'Sequence[float]',
  shear: 'Union[float, Sequence[float]]',
  brightness: 'Optional[Spread]',
  contrast: 'Optional[Spread]',
  saturation: 'Optional[Spread]',
  hue: 'Optional[Spread]',
  kernel: 'Union[int, Sequence[int]]',
  sigma: 'Spread',
  bits: 'int',
  threshold: 'float',
  factor: 'float',
  bins: 'int',
  ops: 'int',
  magnitude: 'int',
  policy: 'Literal["imagenet", "cifar10", "svhn"]',
  value: 'Union[Channels, Literal["random"]]',
  mean: 'Channels',
  std: 'Channels',
  alpha: 'float',
  center: 'Sequence[float]',
  distortion: 'float',
  sides: 'Sequence[float]',
  overlaps: 'Sequence[float]',
  trials: 'int',
  boxes: 'Optional[str]',
  'elastic.alpha': 'Union[float, Sequence[float]]',
  'elastic.sigma': 'Union[float, Sequence[float]]',
  classes: 'int',
  field: 'Optional[str]',
  label: 'Optional[str]',
}

const snake = name => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
const sentence = text => `${text[0].toUpperCase()}${text.slice(1)}.`

/** A default as a reader likes it: one number for equal ones, fractions as fractions. */
function python(value) {
  if (Array.isArray(value)) {
    return value.every(v => v === value[0]) && value.length > 2
      ? python(value[0])
      : `(${value.map(python).join(', ')})`
  }
  if (value === null || value === '') return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return JSON.stringify(value)
  const thirds = value * 3
  return String(value).length > 6 && Number.isInteger(thirds) ? `${thirds} / 3` : String(value)
}

/** The parameters as Python declares them: the main one may be given by place, the others by name. */
function parametersOf(name, { keys, main, presets }) {
  const declare = key => {
    const known = TYPES[`${name}.${key}`] ?? TYPES[key]
    if (known === undefined) throw new Error(`say in TYPES what Python's type of "${key}" is`)
    const spec = keys[key]
    const type = spec.fallback === null && !known.startsWith('Optional') ? `Optional[${known}]` : known
    if (presets !== undefined) return `${snake(key)}: Optional[${type}] = None`
    return typeof spec === 'function'
      ? `${snake(key)}: ${type}`
      : `${snake(key)}: ${type} = ${python(spec.fallback)}`
  }
  const names = Object.keys(keys)
  const others = names.filter(key => key !== main).map(declare)
  if (presets !== undefined) {
    const known = Object.keys(presets).map(name => JSON.stringify(name))
    return [`preset: Optional[Literal[${known.join(', ')}]] = None`, '*', ...others]
  }
  return [...(main === undefined ? [] : [declare(main)]), ...(others.length === 0 ? [] : ['*', ...others])]
}

/** What the TypeScript builder writes when nothing is given: Python writes it as well. */
function writtenAlways(image, name, { keys, presets }) {
  if (presets !== undefined || Object.values(keys).some(spec => typeof spec === 'function')) return []
  const params = image('x')[name]().json.apply[0][name] ?? {}
  return Object.entries(params).map(([key, value]) => `${snake(key)}=${python(value)}`)
}

function declaration(indent, name, parameters, result) {
  const line = `${indent}def ${snake(name)}(${parameters.join(', ')}) -> ${result}:`
  if (line.length <= WIDTH) return line
  return [
    `${indent}def ${snake(name)}(`,
    ...parameters.map(parameter => `${indent}    ${parameter},`),
    `${indent}) -> ${result}:`,
  ].join('\n')
}

function method(image, name, facts) {
  return [
    `    @operator(${[JSON.stringify(name), ...writtenAlways(image, name, facts)].join(', ')})`,
    declaration('    ', name, ['self: F', ...parametersOf(name, facts)], 'F'),
    `        """${sentence(facts.says)}"""`,
    '        ...',
  ].join('\n')
}

function batchFunction(name, facts) {
  return [
    `@batch_operator(${JSON.stringify(name)})`,
    declaration('', name, parametersOf(name, facts), 'Dict[str, Any]'),
    `    """${sentence(facts.says)} For \`\`batch(..., apply=[...])\`\`."""`,
    '    ...',
  ].join('\n')
}

/** The module's text. `importModule` imports a file of `packages/`. */
export async function operatorsModule(importModule) {
  const { image } = await importModule(FIELDS)
  const { OPERATORS } = await importModule(TABLE)
  const all = Object.entries(OPERATORS)
  const methods = keep =>
    all.filter(([, facts]) => facts.stage !== 'batch' && keep(facts)).map(op => method(image, ...op))
  return `"""Generated by scripts/generate.mjs from ${TABLE}: don't edit.

The operators. Defaults are shown for the reader; the engine fills them in itself. Bodies are the decorators'.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Any, Dict, Literal, Optional, Sequence, TypeVar, Union

from ${BASE} import Axis, Channels, Filter, Mode, Size, Spread, batch_operator, operator

F = TypeVar("F", bound="PixelOperators")


class PixelOperators:
    """What images and masks have in common: operators that move pixels."""

${methods(facts => !facts.colors).join('\n\n')}


class ImageOperators(PixelOperators):
    """Operators that change the values of pixels: images only."""

${methods(facts => facts.colors).join('\n\n')}


${all
  .filter(([, facts]) => facts.stage === 'batch')
  .map(op => batchFunction(...op))
  .join('\n\n\n')}
`
}
