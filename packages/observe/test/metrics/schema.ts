/** Checks a value against a JSON schema, as far as ours use it; returns what is wrong. */
interface Schema {
  type?: string | string[]
  enum?: unknown[]
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean
}

const KNOWN = new Set([
  ...['$schema', 'title', 'description', 'type', 'enum', 'minimum', 'maximum', 'minItems', 'maxItems'],
  ...['items', 'properties', 'required', 'additionalProperties'],
])

export function mistakes(value: unknown, schema: Schema, at = '$'): string[] {
  const unknown = Object.keys(schema).filter(key => !KNOWN.has(key))
  if (unknown.length > 0) return [`${at}: the schema has ${unknown}, which is not checked here`]
  if (schema.enum) return schema.enum.includes(value) ? [] : [`${at}: ${value} is none of ${schema.enum}`]
  const types = [schema.type ?? []].flat()
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  if (!types.includes(type)) return [`${at}: ${type}, not ${types}`]
  if (typeof value === 'number') {
    const { minimum = -Infinity, maximum = Infinity } = schema
    // Shares are sums, which are off by rounding.
    return value >= minimum && value <= maximum + 1e-9 ? [] : [`${at}: ${value}`]
  }
  if (Array.isArray(value)) {
    const { minItems = 0, maxItems = Infinity, items } = schema
    if (value.length < minItems || value.length > maxItems) return [`${at}: ${value.length} items`]
    return items ? value.flatMap((one, i) => mistakes(one, items, `${at}[${i}]`)) : []
  }
  if (typeof value !== 'object' || value === null) return []
  const { properties = {}, required = [], additionalProperties } = schema
  const missing = required.filter(name => !(name in value)).map(name => `${at}.${name} is missing`)
  const found = Object.entries(value).flatMap(([name, one]) => {
    if (properties[name]) return mistakes(one, properties[name], `${at}.${name}`)
    return additionalProperties === false ? [`${at}.${name} is unknown`] : []
  })
  return [...missing, ...found]
}
