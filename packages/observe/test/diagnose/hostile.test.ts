/** Evidence that something else has written, or damaged: it is refused by name, or judged with numbers that are some. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { MillraceError } from '../../../core/basics/errors.js'
import { findings } from '../../diagnose/findings.js'
import { checkEvidence } from '../../diagnose/recorded.js'
import { explain } from '../../verdict/words.js'

const CASES = join(import.meta.dirname, '../verdict/cases')
const ODD = [null, {}, [], 'x', -1, 1e308, true]

function recorded(name: string): Record<string, unknown> {
  return JSON.parse(gunzipSync(readFileSync(join(CASES, name))).toString('utf8')).evidence
}

/** Paths of all values, of lists only those of the first entry. */
function* paths(value: unknown, path: string[] = []): Generator<string[]> {
  if (path.length > 0) yield path
  if (typeof value !== 'object' || value === null) return
  for (const key of Array.isArray(value) ? ['0'] : Object.keys(value))
    yield* paths((value as Record<string, unknown>)[key], [...path, key])
}

function put(value: unknown, [key, ...rest]: string[], odd: unknown): unknown {
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>
  copy[key] = rest.length === 0 ? odd : put(copy[key], rest, odd)
  return copy
}

test.each(['latency.json.gz', 'rank.json.gz', 'first-call.json.gz', 'h200-launch.json.gz'])(
  '%s with one odd value',
  name => {
    expect(readdirSync(CASES)).toContain(name)
    const good = recorded(name)
    for (const path of paths(good)) {
      for (const odd of ODD) {
        const at = `${path.join('.')} = ${JSON.stringify(odd)}`
        try {
          const text = explain(findings(checkEvidence(put(good, path, odd), 'it')))
          expect(text, at).not.toMatch(/NaN|undefined|\[object|Infinity|∞/)
        } catch (error) {
          if (!(error instanceof MillraceError)) throw new Error(at, { cause: error })
        }
      }
    }
  },
)
