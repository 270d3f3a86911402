/** What `inspect` tells of files with arrays. */
import type { Layout } from '../../core/source/layout.js'
import { type ArrayType, typeName } from './member.js'

/** A type that a column has in some file. */
export interface SeenType {
  type: ArrayType
  deflated: boolean
}

/** Types that are named of one column; the others are "…". */
const NAMED = 3

/** The layout of `files` files whose columns have these types. */
export function layoutOf(
  kind: string,
  files: number,
  columns: ReadonlyMap<string, ReadonlyMap<number, SeenType>>,
): Layout {
  const all = [...columns].map(([name, types]) => [name, [...types.values()]] as const)
  const deflated = all.flatMap(([name, types]) => {
    if (!types.some(type => type.deflated)) return []
    return types.every(type => type.deflated) ? name : `${name} (in some files)`
  })
  const turned = all
    .filter(([, types]) => types.some(({ type }) => type.bigEndian || type.fortran))
    .map(([name]) => name)
  const slow = deflated.length > 0 ? inflating(deflated) : turned.length > 0 ? turning(turned) : undefined
  return {
    schema: all.map(([name, types]) => ({ name, type: typesName(types.map(({ type }) => type)) })),
    chunks: `${files} ${kind} ${files === 1 ? 'file' : 'files'}, each array in one piece`,
    codecs: deflated.length > 0 ? ['deflate'] : [],
    ...(slow && { slow }),
  }
}

function inflating(columns: readonly string[]): string {
  return (
    `${listed(columns)} ${columns.length === 1 ? 'is' : 'are'} deflated, so all of an array is unpacked to get any of it: ` +
    'numpy.savez instead of savez_compressed makes it one read.'
  )
}

function turning(columns: readonly string[]): string {
  return (
    `${listed(columns)} ${columns.length === 1 ? 'is' : 'are'} big-endian or in Fortran order, and turned element by element: ` +
    'save it little-endian and in C order (numpy.ascontiguousarray).'
  )
}

function listed(names: readonly string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more columns` : ''
  return names.slice(0, NAMED).join(', ') + more
}

/** The types of one column in several files: sides that differ are `n`. */
function typesName(types: readonly ArrayType[]): string {
  const shapes = new Map<string, number[][]>()
  for (const type of types) {
    const shape = [...type.shape, ...(type.inner ?? [])]
    const key = `${typeName(type)}|${shape.length}`
    const of = shapes.get(key)
    if (of === undefined) shapes.set(key, [shape])
    else of.push(shape)
  }
  const names = [...shapes].map(([key, of]) => {
    const sides = of[0].map((n, i) => (of.every(shape => shape[i] === n) ? n : 'n'))
    const [name] = key.split('|')
    return name === 'bytes' ? name : `${name} [${sides.join(', ')}]`
  })
  return names.slice(0, NAMED).join(' or ') + (names.length > NAMED ? ' or …' : '')
}
