/**
 * The names of a LitData sample's leaves. `data_spec` is a tree of Python's containers as JSON, [1, node]; a node has a type, a
 * context (for dicts their keys) and children. Dicts, lists and tuples are read: `meta.size`, `0`, `boxes.1`.
 */

interface Node {
  type?: unknown
  context?: unknown
  children_spec?: unknown
}

/** What a sample that is a single value is called. */
const ONLY = 'data'
/** Containers in containers that are read. */
const DEEPEST = 32

/** The names of all leaves in their order. Throws an Error that says what is wrong. */
export function leafNames(spec: unknown): string[] {
  const parsed: unknown = typeof spec === 'string' ? JSON.parse(spec) : spec
  if (!Array.isArray(parsed) || parsed.length !== 2) throw new Error('it is no pair of version and tree')
  if (parsed[0] !== 1) throw new Error(`it has version ${parsed[0]}, only 1 is known`)
  const names: string[] = []
  walk(parsed[1] as Node, [], names)
  return names
}

function walk(node: Node, path: readonly (string | number)[], names: string[]): void {
  if (path.length > DEEPEST) throw new Error(`its containers are nested more than ${DEEPEST} deep`)
  if (typeof node !== 'object' || node === null) throw new Error('a node of it is no object')
  const children = node.children_spec
  if (!Array.isArray(children)) throw new Error('a node of it has no children')
  if (node.type === null) {
    names.push(path.length === 0 ? ONLY : path.join('.'))
    return
  }
  const keys = keysOf(node, children.length)
  children.forEach((child, i) => {
    walk(child as Node, [...path, keys[i]], names)
  })
}

function keysOf({ type, context }: Node, count: number): (string | number)[] {
  if (type === 'builtins.list' || type === 'builtins.tuple') return Array.from({ length: count }, (_, i) => i)
  if (type !== 'builtins.dict' && type !== 'collections.OrderedDict')
    throw new Error(`it has a container ${JSON.stringify(type)}: dicts, lists and tuples are read`)
  const keys: unknown = typeof context === 'string' ? JSON.parse(context) : context
  const right =
    Array.isArray(keys) &&
    keys.length === count &&
    keys.every(key => ['string', 'number'].includes(typeof key))
  if (!right) throw new Error('a dict of it has keys that are no texts')
  return keys as (string | number)[]
}
