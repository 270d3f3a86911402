// Keeps recorded cases of an exam for the tests: those in which a fault counts, or that are healthy, whatever the verdict was.
//
//   node bench/diagnose/keep.mjs OUT/diagnose.json RECORDS [--most 2] [--to packages/observe/test/verdict/cases]
//   node bench/diagnose/keep.mjs --one RECORD.json.gz --name throttled --verdicts cpu-saturated
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { gunzipSync, gzipSync } from 'node:zlib'
import { root } from '../support.mjs'

/** The largest file that a test keeps. */
const MOST_BYTES = 60_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    most: { type: 'string', default: '2' },
    to: { type: 'string', default: join(root, 'packages/observe/test/verdict/cases') },
    one: { type: 'string' },
    name: { type: 'string' },
    verdicts: { type: 'string' },
  },
})
mkdirSync(values.to, { recursive: true })
if (values.one !== undefined) keep(values.name, values.one, values.verdicts.split(','))
else {
  const [results, records] = positionals
  const kept = {}
  for (const { name, kind, score } of JSON.parse(readFileSync(results, 'utf8')).results) {
    const record = join(records, `${name}.json.gz`)
    if (score === undefined || score.true.unscored !== undefined || !existsSync(record)) continue
    kept[kind] = (kept[kind] ?? 0) + 1
    if (kept[kind] <= Number(values.most))
      keep(`${kind.replaceAll(', ', '-and-')}-${kept[kind]}`, record, score.true.names)
  }
}

function keep(name, record, verdicts) {
  const evidence = JSON.parse(gunzipSync(readFileSync(record)))
  const bytes = gzipSync(JSON.stringify({ verdicts, evidence: shorter(evidence) }), { level: 9 })
  if (bytes.length > MOST_BYTES) return console.log(`${name}: ${bytes.length} bytes are too many`)
  writeFileSync(join(values.to, `${name}.json.gz`), bytes)
  console.log(`${name}: ${verdicts.join(' or ')}, ${bytes.length} bytes`)
}

/** Times of a thousandth of a ms are exact enough. */
function shorter(value) {
  if (typeof value === 'number') return Number.isInteger(value) ? value : Number(value.toPrecision(9))
  if (Array.isArray(value)) return value.map(shorter)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shorter(one)]))
}
