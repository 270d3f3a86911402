/** The fingerprint of a source that is made of others: a digest over theirs, and their parts for the message "what changed". */
import { createHash } from 'node:crypto'
import type { Fingerprint } from '../source.js'

/** Lines that a fingerprint keeps at most. */
const MOST_PARTS = 4096

/** The fingerprint of a combination: of its kind, its parameters, what it is made of, and `values` that decided over rows. */
export function combinedFingerprint(
  kind: string,
  count: number,
  parameters: unknown,
  children: readonly Fingerprint[],
  values?: string,
): Fingerprint {
  const hash = createHash('sha256').update(`${kind} ${count}\n${JSON.stringify(parameters)}\n`)
  for (const child of children) hash.update(`${child.kind} ${child.count} ${child.digest}\n`)
  const parts = children.flatMap(child => child.parts ?? []).slice(0, MOST_PARTS)
  const decided = joined([values, ...children.map(child => child.values)])
  return {
    kind,
    count,
    digest: hash.digest('hex').slice(0, 32),
    ...(decided && { values: decided }),
    parts,
  }
}

/** One digest for several; undefined where there is none. */
export function joined(digests: readonly (string | undefined)[]): string | undefined {
  if (digests.every(digest => digest === undefined)) return undefined
  return createHash('sha256').update(digests.join(' ')).digest('hex').slice(0, 32)
}
