/** Evidence in a file: gzip of JSON, so that a case can be judged again, anywhere. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { MillraceError } from '../basics/errors.js'
import type { Evidence } from '../observe/evidence.js'

/** The largest that is read (bytes of JSON). */
const MOST = 256 * 2 ** 20

export function writeEvidence(file: string, evidence: Evidence): void {
  const draft = `${file}.${process.pid}.tmp`
  try {
    writeFileSync(draft, gzipSync(JSON.stringify(evidence)))
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw new MillraceError(`${file} can't be written: ${(error as Error).message}`, { cause: error })
  }
}

/** Reads what `--record` has written, or the same as plain JSON. */
export function readEvidence(file: string): Evidence {
  let value: unknown
  try {
    const bytes = readFileSync(file)
    const zipped = bytes[0] === 0x1f && bytes[1] === 0x8b
    value = JSON.parse((zipped ? gunzipSync(bytes, { maxOutputLength: MOST }) : bytes).toString('utf8'))
  } catch (error) {
    throw new MillraceError(`${file} can't be read: ${(error as Error).message}`, { cause: error })
  }
  return checkEvidence(value, file)
}

/** Throws where this is no evidence that this version can judge. */
export function checkEvidence(value: unknown, where: string): Evidence {
  const given = (typeof value === 'object' && value !== null ? value : {}) as Partial<Evidence>
  if (given.version !== 1)
    throw new MillraceError(
      `${where} holds no evidence of version 1: \`millrace diagnose … --record FILE\` writes it`,
    )
  const lists = ['steps', 'makers'] as const
  for (const name of lists) {
    if (!Array.isArray(given[name])) throw new MillraceError(`${where}: "${name}" is no list`)
    if (given[name].some(one => typeof one !== 'object' || one === null))
      throw new MillraceError(`${where}: "${name}" has an entry that is no object`)
  }
  if (given.makers!.some(({ work }) => typeof work !== 'object' || work === null))
    throw new MillraceError(`${where}: a slice of "makers" has no "work"`)
  for (const name of ['facts', 'probes'] as const)
    if (typeof given[name] !== 'object' || given[name] === null)
      throw new MillraceError(`${where}: "${name}" is no object`)
  return { ...given, host: given.host ?? null, lost: given.lost ?? 0 } as Evidence
}
