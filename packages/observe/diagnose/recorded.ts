/** Evidence in a file: gzip of JSON, so that a case can be judged again, anywhere. */
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { MillraceError } from '../../core/basics/errors.js'
import { writeWhole } from '../../core/system/files/draft.js'
import type { Evidence } from '../evidence.js'

/** The largest that is read (bytes of JSON). */
const MOST = 256 * 2 ** 20

/** Before anything is measured: throws where the file can't be written, or holds something else. */
export function checkRecordFile(file: string): void {
  try {
    accessSync(dirname(resolve(file)), constants.W_OK)
  } catch (error) {
    throw cantWrite(file, error)
  }
  if (!existsSync(file)) return
  try {
    readEvidence(file)
  } catch {
    throw new MillraceError(`${file} is there and holds no evidence: choose another name for --record`)
  }
}

export function writeEvidence(file: string, evidence: Evidence): void {
  try {
    writeWhole(file, gzipSync(JSON.stringify(evidence)))
  } catch (error) {
    throw cantWrite(file, error)
  }
}

function cantWrite(file: string, error: unknown): MillraceError {
  return new MillraceError(`${file} can't be written: ${(error as Error).message}`, { cause: error })
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
  for (const problem of oddities(given)) throw new MillraceError(`${where}: ${problem}`)
  return { ...given, host: given.host ?? null, lost: given.lost ?? 0 } as Evidence
}

const FACT_NUMBERS = ['workers', 'depth', 'claims', 'rows', 'slotBytes', 'rank', 'world', 'cores'] as const
const HOST_NUMBERS = ['seconds', 'allowed', 'idleCores', 'engineCores', 'trainerCores', 'otherCores'] as const
/** No time, count or size is more: 30,000 years in ms, or a petabyte. */
const MOST_NUMBER = 1e15

/** What is not as a recorder writes it. */
function* oddities(given: Partial<Evidence>): Generator<string> {
  const { host, probes = {}, ranks, waits, claims, facts } = given
  yield* oddNumbers(given)
  for (const { work, ...slice } of given.makers ?? [])
    if (!isFlat(slice) || !areNumbers(Object.values(work)))
      yield '"makers" has something else than numbers in it'
  if (!given.steps?.every(isFlat)) yield '"steps" has something else than numbers in it'
  for (const name of FACT_NUMBERS) if (typeof facts?.[name] !== 'number') yield `"facts.${name}" is no number`
  if (facts?.start !== undefined && !isObject(facts.start)) yield '"facts.start" is no object'
  if (host !== undefined && host !== null) {
    if (!isObject(host)) yield '"host" is no object'
    for (const name of HOST_NUMBERS) if (typeof host[name] !== 'number') yield `"host.${name}" is no number`
    if (!isObject(host.psi)) yield '"host.psi" is no object'
    if (host.gpu !== undefined && !isObject(host.gpu)) yield '"host.gpu" is no object'
    const { psi, gpu: { name: _, ...gpu } = { name: '' }, coreBusy, ...rest } = host
    if (!areNumbers(coreBusy)) yield '"host.coreBusy" is no list of numbers'
    for (const one of [psi, gpu, rest]) if (!isFlat(one)) yield '"host" has something else than numbers in it'
  }
  const { doubled, bytesPerSecond, ...others } = probes
  for (const [name, value] of Object.entries({ doubled, ...others }))
    if (value !== undefined && !isObject(value)) yield `"probes.${name}" is no object`
  if (doubled) {
    const { before, after, ...workers } = doubled
    if (!areNumbers(before) || !areNumbers(after) || !areNumbers(Object.values(workers)))
      yield '"probes.doubled" has something else than numbers in it'
  }
  if (bytesPerSecond !== undefined && typeof bytesPerSecond !== 'number')
    yield '"probes.bytesPerSecond" is no number'
  for (const [name, list] of Object.entries({ ranks, claims }))
    if (list !== undefined && !(Array.isArray(list) && list.every(isObject)))
      yield `"${name}" is no list of objects`
  if (waits !== undefined && !(Array.isArray(waits) && waits.every(areNumbers)))
    yield '"waits" is no list of pairs'
}

/** Numbers are 0 or more, wherever they stand. */
function* oddNumbers(value: unknown, path = ''): Generator<string> {
  if (typeof value === 'number' && !(value >= 0 && value <= MOST_NUMBER))
    yield `${path} is ${value}, and should be from 0 to ${MOST_NUMBER}`
  if (typeof value !== 'object' || value === null) return
  for (const [name, one] of Object.entries(value))
    yield* oddNumbers(one, path === '' ? name : `${path}.${name}`)
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether all values of an object are numbers, or what stands for one that is not known. */
function isFlat(value: object): boolean {
  return Object.values(value).every(
    one => one === null || typeof one === 'number' || typeof one === 'boolean',
  )
}

function areNumbers(list: unknown): boolean {
  return Array.isArray(list) && list.every(one => typeof one === 'number')
}
