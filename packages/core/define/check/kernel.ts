/**
 * The source `kernel`: a CUDA kernel of the user's that makes the rows of a batch on the GPU. What comes out of it is
 * said once, in the source: a feed has all of its fields, or those that it names. For all other code these are
 * ordinary fields, so here they are written out as such.
 */

import { DTYPES, type Dtype, elements } from '../../basics/dtype.js'
import { DefinitionError } from '../../basics/errors.js'
import { at, unknownName, wrong } from '../../basics/mistakes.js'
import {
  integer,
  isObject,
  list,
  object,
  oneOf,
  optional,
  type Parser,
  record,
  text,
} from '../../basics/shape.js'
import { ARRAY, NUMBER } from '../kind.js'
import type { FieldJson, FieldLayout, KernelJson } from '../types.js'

const positive = integer({ min: 1 })

/** A name that C can have for a function. */
const identifier: Parser<string> = (value, path) => {
  if (typeof value === 'string' && /^[A-Za-z_]\w*$/.test(value)) return value
  throw wrong(path, 'the name of an extern "C" __global__ function, such as "draw"', value)
}

const shape = object({
  file: text,
  entry: identifier,
  count: positive,
  fields: record(
    object({
      dtype: oneOf(Object.keys(DTYPES) as Dtype[], 'dtype'),
      shape: list(positive, 'the shape of one row, a list of up to 8 whole numbers ≥ 1', { max: 8 }),
    }),
    'what the kernel makes, such as {"image": {"dtype": "f32", "shape": [3, 224, 224]}}',
  ),
  threads: optional(positive),
  seed: optional(integer({ min: 0 })),
  name: optional(text),
})

export const kernel: Parser<KernelJson> = (value, path) => {
  const json = shape(value, path) as KernelJson
  if (Object.keys(json.fields).length === 0) {
    throw new DefinitionError(at(path, 'fields'), 'a kernel makes at least one field')
  }
  return json
}

const chosen: Parser<{ from: string }> = (value, path) => {
  if (isObject(value)) {
    const more = Object.keys(value).find(key => key !== 'from' && value[key] !== undefined)
    if (more !== undefined) {
      throw new DefinitionError(
        at(path, more),
        'a field of a kernel comes as the kernel makes it: only "from" can be said here; dtype and shape stand in source.kernel.fields',
      )
    }
  }
  return object({ from: text })(value, path)
}

/** A feed whose source is a kernel, with the fields of that written out; any other value as it is. */
export function withKernelFields(value: unknown, path = ''): unknown {
  if (!isObject(value) || !isObject(value.source) || value.source.kernel === undefined) return value
  const { fields } = kernel(value.source.kernel, at(at(path, 'source'), 'kernel'))
  refuse(value, path)
  const here = at(path, 'fields')
  const names =
    value.fields === undefined
      ? Object.keys(fields).map((name): [string, string] => [name, name])
      : Object.entries(
          record(chosen, 'fields, such as {"image": {"from": "image"}}')(value.fields, here),
        ).map(([name, { from }]): [string, string] => [name, from])
  const taken = new Map<string, string>()
  for (const [name, from] of names) {
    const where = at(at(here, name), 'from')
    if (!Object.hasOwn(fields, from))
      throw unknownName(where, 'field of the kernel', from, Object.keys(fields))
    if (taken.has(from)) throw new DefinitionError(where, `"${from}" is "${taken.get(from)}" already`)
    taken.set(from, name)
  }
  return {
    ...value,
    fields: Object.fromEntries(names.map(([name, from]) => [name, written(from, fields[from])])),
  }
}

/** Refuses what is done to samples on the CPU: those of a kernel are made on the GPU. */
function refuse(feed: Record<string, unknown>, path: string): void {
  if (feed.map !== undefined) {
    throw new DefinitionError(
      at(path, 'map'),
      'the samples of a kernel are made on the GPU: do it in the kernel',
    )
  }
  const { batch } = feed
  if (isObject(batch) && Array.isArray(batch.apply) && batch.apply.length > 0) {
    throw new DefinitionError(
      at(at(path, 'batch'), 'apply'),
      'the batches of a kernel are made on the GPU: mix them in the kernel, or in the trainer',
    )
  }
}

function written(from: string, { dtype, shape }: KernelJson['fields'][string]): FieldJson {
  return shape.length === 0 ? { from, as: NUMBER, dtype } : { from, as: ARRAY, dtype, shape }
}

/** The layout of a field that is filled on the GPU. */
export function generatedLayout(layout: FieldLayout): FieldLayout {
  const { dtype, shape } = layout
  return { ...layout, device: { kind: 'generated', dtype, shape } }
}

/** Threads that are launched for each row. */
export function kernelThreads({ threads, fields }: KernelJson): number {
  return threads ?? Math.max(...Object.values(fields).map(field => elements(field.shape)))
}
