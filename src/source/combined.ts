/** What combinators share: a digest over those of their parts, and the parts themselves for "what changed". */
import { createHash } from 'node:crypto'
import type { Fingerprint } from './source.js'

/** Lines that a fingerprint keeps at most. */
const MOST_PARTS = 4096

/** The fingerprint of a combination: of its kind, its parameters and what it is made of. */
export function combinedFingerprint(
  kind: string,
  count: number,
  parameters: unknown,
  children: readonly Fingerprint[],
): Fingerprint {
  const hash = createHash('sha256').update(`${kind} ${count}\n${JSON.stringify(parameters)}\n`)
  for (const child of children) hash.update(`${child.kind} ${child.count} ${child.digest}\n`)
  const parts = children.flatMap(child => child.parts ?? []).slice(0, MOST_PARTS)
  return { kind, count, digest: hash.digest('hex').slice(0, 32), parts }
}
