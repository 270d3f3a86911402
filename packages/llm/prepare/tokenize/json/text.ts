/**
 * The text under a key of a line of JSON, by JSON.parse: for lines that the kernel is not sure of (kernels/assembly/json-text.ts),
 * and what it is compared with. Says what is wrong with a line.
 */

/** What is wrong with a document, as the end of a sentence that begins with its place. */
export class Fault {
  constructor(readonly problem: string) {}
}

/** Characters of a line that a message shows. */
const SHOWN = 60
/** A string, or a number that Python's json writes and that is no JSON. */
const STRING_OR_SPECIAL = /"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)/gs

/** `a.b` is the value of `b` in the object `a`, unless there is a key `a.b`. Of a key that stands twice the last one counts. */
export function textIn(line: string, key: string): Buffer | Fault {
  let value: unknown
  try {
    value = parsed(line)
  } catch (error) {
    const spread = /^\s*[[{]\s*$/.test(line)
      ? '; a line must have a whole object: `jq -c .` makes lines of objects that are spread over several'
      : ''
    return new Fault(`is no JSON: ${(error as Error).message}${spread}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Fault(
      `is no JSON object such as {"${key}": "…"}: it begins with ${JSON.stringify(line.slice(0, SHOWN))}` +
        (Array.isArray(value) ? ": `jq -c '.[]'` makes lines of a list" : ''),
    )
  const found = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : below(value, key)
  if (typeof found === 'string') return Buffer.from(found)
  if (found === undefined) return new Fault(`has no "${key}": its keys are ${keysOf(value)}`)
  const type = found === null ? 'null' : Array.isArray(found) ? 'a list' : `a ${typeof found}`
  return new Fault(`has ${type.replace('a object', 'an object')} under "${key}", and not a text`)
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    if (!/NaN|Infinity/.test(line)) throw error
    return JSON.parse(line.replace(STRING_OR_SPECIAL, found => (found[0] === '"' ? found : '0')))
  }
}

function below(object: object, key: string): unknown {
  let value: unknown = object
  for (const part of key.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, part))
      return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

function keysOf(object: object): string {
  const keys = Object.keys(object).slice(0, 8)
  return keys.length === 0 ? 'none' : keys.map(key => JSON.stringify(key)).join(', ')
}
