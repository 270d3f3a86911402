// What is generated of the registry of operators: methods of Python, torchvision's names, the GPU's dispatch, and the tables of
// docs/define.md.
import { constantName, dictionary, literal, pythonModule } from './python.mjs'

const TABLE = 'packages/pixels/operators/registry.ts'
const STEPS = 'packages/pixels/operators/steps.ts'
const BUILD = 'packages/pixels/build/pictures.ts'
/** What the decorators and types of the methods come from. */
const BASE = '.._define.operator'
const WIDTH = 110

/** Python's type of each parameter, by its name; `python` of an operator has its own. */
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
  classes: 'int',
  field: 'Optional[str]',
  label: 'Optional[str]',
}

export const snake = name => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
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
function parametersOf({ keys, main, presets, python: types = {} }) {
  const declare = key => {
    const known = types[key] ?? TYPES[key]
    if (known === undefined)
      throw new Error(`say in the operator's "python" what Python's type of "${key}" is`)
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

export function declaration(indent, name, parameters, result) {
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
    declaration('    ', name, ['self: F', ...parametersOf(facts)], 'F'),
    `        """${sentence(facts.says)}"""`,
    '        ...',
  ].join('\n')
}

function batchFunction(name, facts) {
  return [
    `@batch_operator(${JSON.stringify(name)})`,
    declaration('', name, parametersOf(facts), 'Dict[str, Any]'),
    `    """${sentence(facts.says)} For \`\`batch(..., apply=[...])\`\`."""`,
    '    ...',
  ].join('\n')
}

/** The module's text. `importModule` imports a file of `packages/`. */
export async function operatorsModule(importModule) {
  const { image } = await importModule(BUILD)
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

/** A dictionary of Python, in one line if it fits. */
function braces(pairs) {
  const line = `        {${pairs.join(', ')}},\n`
  if (line.length <= WIDTH + 1) return line
  return `        {\n${pairs.map(pair => `            ${pair},\n`).join('')}        },\n`
}

/** The transforms of torchvision that are translated by a look at their attributes alone. */
function plainTransforms(operators) {
  return Object.entries(operators).flatMap(([name, { torchvision = {} }]) =>
    Object.entries(torchvision).flatMap(([transform, facts]) => {
      if (facts === undefined) return []
      const { parameters, bytes = [], needs = {} } = facts
      const needed = Object.entries(needs).map(([key, value]) => `"${key}": ${literal(value)}`)
      const read = Object.entries(parameters).map(
        ([key, attribute]) => `"${snake(key)}": "${attribute}${bytes.includes(key) ? ' in bytes' : ''}"`,
      )
      return [`    "${transform}": (\n        "${snake(name)}",\n${braces(read)}${braces(needed)}    ),\n`]
    }),
  )
}

export async function torchvisionModule(importModule, parameters) {
  const { OPERATORS, namesElsewhere } = await importModule(TABLE)
  const about = 'Names of torchvision.'
  return pythonModule('packages/pixels/operators/registry.ts', about, [
    dictionary({ ...parameters, value: { ...parameters.value, ...namesElsewhere() } }, 'str'),
    `#: Transforms that are read by their attributes alone, by name: a field's method, and its parameters with the
#: attributes that they have there, and attributes that must be so. \`\`in bytes\`\`: a value of pixels.
PLAIN: Dict[str, Tuple[str, Dict[str, str], Dict[str, Any]]] = {\n${plainTransforms(OPERATORS).join('')}}`,
  ])
}

/** The codes of the GPU's ops. */
export async function opCodes(importModule) {
  const { OP_CODES } = await importModule(STEPS)
  return { name: 'OpCode', says: 'Codes of the ops.', value: OP_CODES, entries: {} }
}

/** The GPU's ops, each in the step.cuh of an operator's folder. */
export async function dispatchHeader(importModule, folders) {
  const { OP_CODES, factsOf } = await importModule(STEPS)
  const names = Object.keys(OP_CODES).filter(name => name !== 'place' && name !== 'erase')
  const cases = names.map(name => {
    const tables = factsOf({ do: name }).tableBytes === undefined ? '' : 'tables, '
    return `    case OpCode::${constantName(name)}: return ${name}(op, from, ${tables}to);\n`
  })
  return `// Generated by scripts/generate.mjs from ${TABLE}: don't edit.
#pragma once
${folders.map(folder => `#include "${folder}/step.cuh"\n`).join('')}
/** Carries out an op that is neither \`place\` nor \`erase\`, and leaves its result at \`to\`. */
__device__ inline Picture applyStep(Op op, Picture from, u8* tables, u8* to) {
  switch (op.code()) {
${cases.join('')}    default: return from;
  }
}
`
}

/** The rows of a table of docs/define.md: the operators for which `keep` holds. */
export async function operatorRows(importModule, keep) {
  const { OPERATORS } = await importModule(TABLE)
  const rows = Object.entries(OPERATORS)
    .filter(([, facts]) => keep(facts))
    .sort(([, a], [, b]) => Number(a.stage === 'final') - Number(b.stage === 'final'))
    .map(([name, { keys, main, presets, about, says, defaults = {} }]) => {
      const shown = Object.keys(keys).map(key => {
        const mark = key === main ? '• ' : ''
        return `${mark}\`${key}\`${defaults[key] ?? fallback(keys[key].fallback)}`
      })
      const named = presets === undefined ? [] : [`or a name: ${Object.keys(presets).join(', ')}`]
      return [`\`${name}\``, [...shown, ...named].join(', '), about ?? says]
    })
  return [['operator', 'parameters and defaults', 'does'], ['---', '---', '---'], ...rows]
    .map(cells => `| ${cells.join(' | ')} |`)
    .join('\n')
}

/** A default as docs have it. */
function fallback(value) {
  if (value === undefined || value === '') return ''
  if (!Array.isArray(value)) return ` ${value}`
  if (value.length > 2 && value.every(one => one === value[0])) return ` ${value[0]}`
  return ` [${value.map(one => python(one).replaceAll(' ', '')).join(', ')}]`
}
