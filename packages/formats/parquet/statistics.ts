/** What the least and the greatest value of a column chunk say of a condition: whether a value in it may meet it. */
import type { ConditionJson } from '../../core/define/types.js'
import { formOf } from './form.js'
import type { ParquetLeaf } from './structure/schema.js'

type Bound = number | string | boolean | null

/** False only where no value can meet the condition. Statistics that are missing, or not understood, say nothing. */
export function mayMatch(
  leaf: ParquetLeaf,
  condition: ConditionJson,
  { min, max }: { min?: Uint8Array; max?: Uint8Array },
): boolean {
  if (min === undefined || max === undefined) return true
  const form = formOf(leaf)
  if (typeof form === 'string' || form.change === 'decimal' || form.change === 'int96' || leaf.repetition > 0)
    return true
  if (form.items === 'text') return textMayMatch(condition, min, max)
  const [least, most] = [numberOf(leaf, min), numberOf(leaf, max)]
  if (least === undefined || most === undefined || !(least <= most)) return true
  const isInside = (bound: Bound): boolean =>
    bound === null || typeof bound === 'string' || (Number(bound) >= least && Number(bound) <= most)
  if (Array.isArray(condition)) return condition.some(isInside)
  if (condition === null || typeof condition !== 'object') return isInside(condition)
  return Object.entries(condition).every(([sign, given]) => {
    if (given === null || typeof given === 'string') return true
    const bound = Number(given)
    if (sign === '>') return most > bound
    if (sign === '>=') return most >= bound
    if (sign === '<') return least < bound
    if (sign === '<=') return least <= bound
    return sign !== '=' || isInside(bound)
  })
}

/** Texts are ordered by their bytes here, and by UTF-16 where conditions are tested: only equal ones are looked for. */
function textMayMatch(condition: ConditionJson, min: Uint8Array, max: Uint8Array): boolean {
  const isInside = (bound: Bound): boolean => {
    if (bound === null) return true
    const bytes = Buffer.from(String(bound))
    return Buffer.compare(bytes, min) >= 0 && Buffer.compare(bytes, max) <= 0
  }
  if (Array.isArray(condition)) return condition.some(isInside)
  if (condition === null || typeof condition !== 'object') return isInside(condition)
  return condition['='] === undefined || isInside(condition['='])
}

/** A value of the statistics: PLAIN, in little-endian. */
function numberOf({ physical, logical }: ParquetLeaf, bytes: Uint8Array): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const isUnsigned = logical?.kind === 'integer' && logical.signed === false
  if (physical === 'INT32' && bytes.length === 4)
    return isUnsigned ? view.getUint32(0, true) : view.getInt32(0, true)
  if (physical === 'INT64' && bytes.length === 8)
    return Number(isUnsigned ? view.getBigUint64(0, true) : view.getBigInt64(0, true))
  if (physical === 'FLOAT' && bytes.length === 4) return view.getFloat32(0, true)
  if (physical === 'DOUBLE' && bytes.length === 8) return view.getFloat64(0, true)
  return physical === 'BOOLEAN' && bytes.length === 1 ? bytes[0] : undefined
}
