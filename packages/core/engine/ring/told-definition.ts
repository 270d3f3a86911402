/** A definition as people are shown it: as JSON again, from its normal form, with every default written out. */
import type { NormalFeed, NormalField, NormalOp } from '../../define/types.js'

/** A definition in words that `millrace run` takes, but for defaults that it can't be told. */
export interface ToldDefinition {
  source: unknown
  order: unknown
  fields: Record<string, ToldField>
  map?: unknown
  batch: unknown
  onError: unknown
}

export interface ToldField {
  from: string
  as: string
  apply?: Record<string, unknown>[]
  dtype: string
  layout?: string
  follow?: string
  classes?: string[]
  [more: string]: unknown
}

export function toldDefinition({ source, order, fields, map, batch, onError }: NormalFeed): ToldDefinition {
  return {
    source: withoutPasswords(source),
    order,
    fields: Object.fromEntries(fields.map(field => [field.name, toldField(field)])),
    ...(map && { map }),
    batch: { ...batch, apply: batch.apply.map(toldOp) },
    onError,
  }
}

function toldField({ name: _, from, as, apply, layout, scale, minArea, ...more }: NormalField): ToldField {
  const { dtype, shape, form, max, to, layout: channels } = layout
  return {
    from: from.join('|'),
    as,
    ...(apply.length > 0 && { apply: apply.map(toldOp) }),
    dtype,
    ...(shape.length > 0 && { shape }),
    ...(channels && { layout: channels }),
    ...(form === 'ragged' && { ragged: { max } }),
    ...(form === 'padded' && { pad: { to, max } }),
    ...(scale !== 1 && { scale }),
    ...(minArea > 0 && { minArea }),
    ...more,
  }
}

function toldOp({ name, params }: NormalOp): Record<string, unknown> {
  return { [name]: params }
}

/** Names and passwords in addresses, and what signs them, are for the engine alone. */
function withoutPasswords(value: unknown): unknown {
  if (typeof value === 'string' && /^[a-z][a-z0-9+.-]*:\/\//i.test(value))
    return value.replace(/^([^/]*\/\/)[^/@]*@/, '$1…@').replace(/\?.*$/s, '?…')
  if (Array.isArray(value)) return value.map(withoutPasswords)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withoutPasswords(part)]))
}
