/**
 * Text to token files: finds the inputs, cuts them into tasks, tokenises these in threads, each into a part, and joins the parts.
 *
 *   OUT.parts/000000.part …   finished parts, and the journal that knows them; gone at the end
 *   OUT.bin, OUT.idx          the result: by rename, the index last
 *
 * Stopped at any moment, even by kill -9, the same command goes on with the parts that are missing. The result is the same, byte for byte,
 * whatever the number of threads, and however often it was stopped.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { SourceError } from '../../../core/basics/errors.js'
import { withLock } from '../../../core/source/index/lock.js'
import type { Manifest } from '../../../core/source/source.js'
import { schemeOf } from '../../../core/store/stores.js'
import { sweepDrafts } from '../../../core/system/files/draft.js'
import { makeFolder } from '../../../core/system/files/folder.js'
import { spread } from '../../../core/system/node/threads.js'
import { type OpenedTokenizer, openTokenizer } from '../../tokenize/open.js'
import { filesOf, openTokenWriter } from '../tokens/write/open.js'
import type { TokenWriter } from '../tokens/write/writer.js'
import { describe, type EncodeSetup, encoder, MOST_NAMED } from './encode.js'
import { findInputs, type Input } from './inputs.js'
import { type Facts, Journal } from './journal.js'
import type { TokenizeOptions, TokenizeResult } from './options.js'
import { type Part, type PartDtype, PartReader, partDtype } from './parts.js'
import { blocksOf, type Plan, planTasks, type Task } from './plan.js'
import { LineNumbers } from './read/lines.js'
import { Shuffle } from './shuffle.js'

/** Codes by which the system says that there is no room, or that a limit on sizes is reached. */
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])
/** Time between two reports of progress. */
const PROGRESS_EVERY_MS = 100

export async function tokenize(paths: readonly string[], options: TokenizeOptions): Promise<TokenizeResult> {
  const { root, onNotice: notice = () => {} } = options
  const tokenizer = await openTokenizer(options.tokenizer, root, notice)
  const eod = endOf(options.eod, tokenizer)
  const out = outOf(options)
  makeFolder(dirname(out))
  return withLock(
    join(dirname(out), `.${basename(out)}.tokenize.lock`),
    async () => {
      sweepDrafts(dirname(out))
      const journal = new Journal(`${out}.parts`, options.format)
      // A run that was stopped may have written one of its files.
      if (!options.restart && !journal.begun) refuseExisting(filesOf(out, options.format))
      const writer = openTokenWriter(out, {
        format: options.format,
        vocabulary: tokenizer.size,
        ...(eod !== undefined && { eod }),
        overwrite: true,
      })
      try {
        return await run(paths, { ...options, out }, journal, tokenizer, writer, eod)
      } catch (error) {
        throw NO_ROOM.has((error as NodeJS.ErrnoException).code ?? '') ? diskFull(out, error) : error
      } finally {
        writer.abort()
      }
    },
    { notice, what: `tokenises into ${out}` },
  )
}

async function run(
  paths: readonly string[],
  options: TokenizeOptions,
  journal: Journal,
  tokenizer: OpenedTokenizer,
  writer: TokenWriter,
  eod: number | undefined,
): Promise<TokenizeResult> {
  const { key, root, part, onNotice: notice = () => {} } = options
  const dtype = partDtype(tokenizer.size)
  const inputs = options.stdin ? [] : await findInputs(paths, { root, lines: options.lines, notice })
  const plan = options.stdin
    ? { tasks: blocksOf(options.stdin, !options.lines), sources: [], bytes: 0 }
    : await planTasks(inputs, { key, root, part, notice })
  const facts = factsOf(options, inputs, tokenizer)
  // What came by stdin can't be read again.
  const known = options.stdin || options.restart ? journal.begin(facts) : journal.resume(facts, dtype)
  sweepDrafts(journal.folder)
  const parts = new Map<number, Part>()
  const wanted = Array.isArray(plan.tasks)
    ? new Set((plan.tasks as Task[]).map(task => task.number))
    : undefined
  // Nothing may be left out of a part where a bad document is an error.
  for (const part of known)
    if (wanted?.has(part.number) && (options.onError === 'skip' || part.skipped === 0))
      parts.set(part.number, part)
  const reused = parts.size
  const inputBytes = await encodeParts(plan, parts, journal, tokenizer, options)
  const ordered = [...parts.values()].sort((a, b) => a.number - b.number)
  const sums = sumsOf(ordered)
  if (sums.documents === 0 && part === undefined)
    throw new SourceError(
      `${options.stdin ? 'stdin has' : 'the inputs have'} no document with a token` +
        (sums.skipped > 0 ? `, and ${sums.skipped} bad ones` : ''),
    )
  await joinParts(ordered, journal.folder, dtype, writer, options)
  const written = await writer.finish()
  journal.remove()
  return {
    format: options.format,
    dtype: written.dtype,
    outputs: written.files,
    documents: written.documents,
    tokens: written.tokens,
    bytes: written.bytes,
    textBytes: sums.textBytes,
    inputBytes,
    empty: sums.empty,
    skipped: sums.skipped,
    replaced: sums.replaced,
    bad: reported(ordered),
    parts: ordered.length,
    reused,
    vocabulary: tokenizer.size,
    ...(eod !== undefined && { eod }),
  }
}

/** Makes the parts that are missing; gives the bytes of all inputs. */
async function encodeParts(
  plan: Omit<Plan, 'tasks'> & { tasks: Task[] | AsyncIterable<Task> },
  parts: Map<number, Part>,
  journal: Journal,
  tokenizer: OpenedTokenizer,
  options: TokenizeOptions,
): Promise<number> {
  const listed = Array.isArray(plan.tasks) ? plan.tasks : undefined
  const total = listed?.reduce((sum, task) => sum + task.bytes, 0) ?? 0
  const finished = listed?.filter(task => parts.has(task.number)) ?? []
  const counters = new BigInt64Array(new SharedArrayBuffer(16))
  counters[0] = BigInt(Math.round(finished.reduce((sum, task) => sum + task.bytes, 0)))
  counters[1] = BigInt([...parts.values()].reduce((sum, part) => sum + part.tokens, 0))
  const report = (): void =>
    options.onProgress?.({
      what: 'tokenising',
      done: Number(counters[0]),
      total,
      unit: 'bytes',
      tokens: Number(counters[1]),
    })
  const timer = setInterval(report, PROGRESS_EVERY_MS)
  let skipped = [...parts.values()].reduce((sum, part) => sum + part.skipped, 0)
  try {
    await spread<EncodeSetup, Task, Part>({
      threads: options.workers,
      worker: new URL('./worker.js', import.meta.url),
      setup: {
        tokenizer,
        key: options.key,
        onError: options.onError,
        folder: journal.folder,
        dtype: partDtype(tokenizer.size),
        sources: plan.sources as Manifest[],
        counters,
      },
      start: encoder,
      tasks: listed?.filter(task => !parts.has(task.number)) ?? plan.tasks,
      onResult: part => {
        parts.set(part.number, part)
        journal.add(part)
        skipped += part.skipped
        if (skipped > options.budget) throw tooMany(skipped, part, options.budget)
      },
    })
  } finally {
    clearInterval(timer)
  }
  report()
  return listed === undefined ? Number(counters[0]) : total
}

function refuseExisting(files: readonly string[]): void {
  const file = files.find(file => existsSync(file))
  if (file !== undefined)
    throw new SourceError(`${file} is there already: give another --out, or --restart to replace it`, {
      file,
    })
}

function endOf(wanted: boolean | number, { eod, size, name }: OpenedTokenizer): number | undefined {
  if (wanted === false) return undefined
  if (wanted === true) {
    if (eod !== undefined) return eod
    throw new SourceError(
      `the tokenizer ${name} does not say which token ends a document: give it with --eod N`,
    )
  }
  if (wanted < size) return wanted
  throw new SourceError(`--eod ${wanted}: the tokenizer ${name} has the tokens 0 to ${size - 1}`)
}

/** The outputs' path without endings; a machine's share says so in its name, and names in order are the shares in order. */
function outOf({ out, root, part }: TokenizeOptions): string {
  if (schemeOf(out) !== undefined)
    throw new SourceError(
      `${out}: token files are written to a local disk: give a path, and copy them afterwards`,
    )
  const path = resolve(root, out.replace(/\.(bin|idx|npy)$/, ''))
  const five = (n: number): string => String(n).padStart(5, '0')
  return part === undefined ? path : `${path}-${five(part.number)}-of-${five(part.of)}`
}

/** All that decides the parts. */
function factsOf(
  { key, lines, part, tokenizer: { special, invalid } }: TokenizeOptions,
  inputs: readonly Input[],
  { name, hash }: OpenedTokenizer,
): Facts {
  const digest = createHash('sha256')
  for (const { file, kind, bytes, mtimeMs } of inputs) digest.update(`${file}\0${kind} ${bytes} ${mtimeMs}\n`)
  const bytes = inputs.reduce((sum, input) => sum + input.bytes, 0)
  return {
    version: '1',
    inputs: `${inputs.length} files of ${bytes} bytes (${digest.digest('hex').slice(0, 16)})`,
    tokenizer: `${name} (${hash})`,
    '--key': key,
    '--lines': String(lines),
    '--part': part === undefined ? 'none' : `${part.number}/${part.of}`,
    '--special': special ?? 'text',
    '--invalid': invalid ?? 'replace',
  }
}

function sumsOf(parts: readonly Part[]) {
  const sums = { documents: 0, textBytes: 0, empty: 0, skipped: 0, replaced: 0 }
  for (const part of parts)
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += part[name]
  return sums
}

/** The first bad documents, in words. */
function reported(parts: readonly Part[]): string[] {
  const lines = new LineNumbers()
  return parts
    .flatMap(({ faults }) => faults)
    .slice(0, MOST_NAMED)
    .map(fault => describe(fault, lines))
}

function tooMany(skipped: number, { faults }: Part, budget: number): SourceError {
  return new SourceError(
    `${skipped} bad documents were left out, more than --budget ${budget} allows. The last was: ${describe(faults[faults.length - 1])}`,
  )
}

function diskFull(out: string, cause: unknown): SourceError {
  const { code, path } = cause as NodeJS.ErrnoException
  const file = path ?? out
  return new SourceError(
    code === 'EFBIG'
      ? `file size limit reached while writing ${file}: raise \`ulimit -f\`; the same command goes on where it was`
      : `disk full while writing ${file}: make room, and give the same command again: it goes on where it was. Until the end there must be ` +
          'room for the parts and the result, which are about equally large',
    { file, cause },
  )
}

async function joinParts(
  parts: readonly Part[],
  folder: string,
  dtype: PartDtype,
  writer: TokenWriter,
  { shuffle, onProgress }: Pick<TokenizeOptions, 'shuffle' | 'onProgress'>,
): Promise<void> {
  const tokens = parts.reduce((sum, part) => sum + part.tokens, 0)
  const documents = parts.reduce((sum, part) => sum + part.documents, 0)
  /** Ctrl-C and progress get their turn. */
  const breathe = (what: 'joining' | 'shuffling', done: number): Promise<void> => {
    onProgress?.({ what, done, total: tokens, unit: 'tokens', tokens: done })
    return new Promise(setImmediate)
  }
  const reader = new PartReader(folder, dtype)
  let done = 0
  const each = async (what: 'joining' | 'shuffling', take: TokenWriter['document']): Promise<void> => {
    for (const part of parts) {
      reader.read(part, take)
      await breathe(what, (done += part.tokens))
    }
  }
  const write = writer.document.bind(writer)
  if (shuffle === undefined) return each('joining', write)
  const shuffled = new Shuffle({ ...shuffle, documents, tokens, folder })
  try {
    await each('shuffling', shuffled.add.bind(shuffled))
    let written = 0
    await shuffled.each(
      (tokens, from, to) => {
        write(tokens, from, to)
        written += to - from
      },
      () => breathe('joining', written),
    )
  } finally {
    shuffled.close()
  }
}
