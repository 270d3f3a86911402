/**
 * Packs a source into WebDataset tar shards: plans, writes the shards in threads, then their index and lists.
 *
 *   OUT/train-0000.tar …      the shards, and the index beside each
 *   OUT/train-shards.json     what there is, as wids reads it
 *   OUT/classes.json          class names in the order of their numbers
 *
 * Stopped at any moment, even by kill -9, and started again, it goes on with the shards that are missing.
 */
import { existsSync, readdirSync, realpathSync, rmSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { SourceError } from '../../../core/basics/errors.js'
import type { SourceJson } from '../../../core/define/types.js'
import { expandBraces } from '../../../core/source/find/braces.js'
import { compileGlob, isGlob } from '../../../core/source/find/glob.js'
import { withLock } from '../../../core/source/index/lock.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import type { Manifest, OnProgress, OpenContext } from '../../../core/source/source.js'
import { schemeOf } from '../../../core/store/stores.js'
import { sweepDrafts, writeWhole } from '../../../core/system/files/draft.js'
import { makeFolder } from '../../../core/system/files/folder.js'
import { readRegular } from '../../../core/system/files/regular.js'
import { spread } from '../../../core/system/node/threads.js'
import { CLASSES, classNames } from '../class-names.js'
import { hasSize, Journal } from './journal.js'
import { type Division, type PackPlan, planPack } from './plan.js'
import { type PackedShard, shardPacker } from './shard.js'
import { shardsAt } from './tar-writer.js'

export interface PackOptions {
  out: string
  /** Beginning of the shards' names. */
  prefix: string
  division: Division
  /** Shuffles the samples with this seed. */
  shuffle?: number
  /** Threads; 0 packs in the calling one. */
  workers: number
  /** URLs of plugins, which are loaded here: threads load them as well. */
  plugins?: readonly string[]
  /** Starts over, in place of what another pack left in `out`. */
  force?: boolean
  onProgress?: OnProgress
  /** Called with what was left out, or rebuilt. */
  onNotice?: (text: string) => void
}

export interface PackResult {
  out: string
  shards: PackedShard[]
  samples: number
  bytes: number
  classes: string[]
  /** Shards that were there already. */
  reused: number
  list: string
}

/** wids' description of a set of shards; `millrace` is ours, which wids ignores. */
interface ShardList {
  __kind__: 'wids-shard-index-v1'
  wids_version: 1
  name: string
  shardlist: { url: string; nsamples: number; filesize: number }[]
  millrace: { plan: string }
}

/** Codes by which the system says that there is no room, or that a limit on sizes is reached. */
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

export async function pack(json: SourceJson, options: PackOptions): Promise<PackResult> {
  const out = localFolder(options.out)
  refuseOwnSource(json, out, options.prefix)
  const context: OpenContext = {
    root: process.cwd(),
    wanted: ['cls'],
    check: 'files',
    progress: options.onProgress,
    notice: options.onNotice,
  }
  const manifest = await openSource(json, context)
  const source = attachSource(manifest)
  makeFolder(out)
  return withLock(
    join(out, `.${options.prefix}.pack.lock`),
    async () => {
      sweepDrafts(out)
      const plan = planPack(source, manifest, options)
      const classes = keepClasses(out, await classNames(json, manifest, source), options.force === true)
      const journal = new Journal(out, options.prefix)
      const done = resume(out, plan, journal, options)
      const reused = done.size
      await writeShards(manifest, plan, done, journal, { ...options, out })
      const shards = plan.shards.map(shard => done.get(shard.name)!)
      await openSource(shardsAt(shards.map(shard => join(out, shard.name))), context) // builds the index
      const list = join(out, listName(options.prefix))
      writeWhole(list, `${JSON.stringify(shardList(options.prefix, plan, shards), null, 1)}\n`)
      journal.remove()
      const bytes = shards.reduce((sum, shard) => sum + shard.bytes, 0)
      return { out, shards, samples: plan.samples, bytes, classes, reused, list }
    },
    { notice: options.onNotice, what: `packs into ${out}` },
  )
}

/** Shards in a folder of the source, or that its pattern matches, would be part of it when it is read next. */
function refuseOwnSource(json: SourceJson, out: string, prefix: string): void {
  const folder = realOf(out)
  const shard = join(folder, `${prefix}-000000.tar`)
  const own = textsIn(json).find(text => {
    if (text === '' || schemeOf(text) !== undefined) return false
    const path = resolve(text)
    if (isGlob(path)) return expandBraces(path).some(pattern => isGlob(pattern) && matches(pattern, shard))
    return (
      statSync(path, { throwIfNoEntry: false })?.isDirectory() && `${folder}/`.startsWith(`${realOf(path)}/`)
    )
  })
  if (own === undefined) return
  throw new SourceError(`--out ${out} lies in the source, ${own}: give a folder of its own for the shards`, {
    file: out,
  })
}

function matches(pattern: string, path: string): boolean {
  const { base, test } = compileGlob(pattern)
  const below = base === '/' ? '/' : `${realOf(base)}/`
  return path.startsWith(below) && test(path.slice(below.length))
}

/** A path without links; its last parts need not be there. */
function realOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : join(realOf(dirname(path)), basename(path))
}

/** The folders and patterns that a source names, in lists and sources within it too. */
function textsIn(json: unknown): string[] {
  if (typeof json === 'string') return [json]
  return typeof json === 'object' && json !== null ? Object.values(json).flatMap(textsIn) : []
}

function localFolder(out: string): string {
  if (schemeOf(out) === undefined) return resolve(out)
  throw new SourceError(
    `${out}: shards are written into a local folder: give a path, and copy them afterwards`,
  )
}

/** What is there already of this very plan. Shards of another are in the way, unless `force` says otherwise. */
function resume(
  out: string,
  plan: PackPlan,
  journal: Journal,
  options: PackOptions,
): Map<string, PackedShard> {
  const listed = readList(join(out, listName(options.prefix)))
  if (listed?.plan === plan.hash)
    return new Map(listed.shards.filter(s => hasSize(out, s)).map(s => [s.name, s]))
  if (journal.plan() === plan.hash) return new Map(journal.finished().map(shard => [shard.name, shard]))
  const inTheWay = readdirSync(out).filter(name => isShard(name, options.prefix))
  if (inTheWay.length > 0 && !options.force) {
    throw new SourceError(
      `${out} holds shards "${options.prefix}-…" of another pack (other data, data that changed since, or other options): ` +
        'give another --out or --prefix, or --force to replace them',
      { file: out },
    )
  }
  for (const name of inTheWay) rmSync(join(out, name))
  rmSync(join(out, listName(options.prefix)), { force: true })
  journal.begin(plan.hash)
  return new Map()
}

async function writeShards(
  manifest: Manifest,
  plan: PackPlan,
  done: Map<string, PackedShard>,
  journal: Journal,
  options: PackOptions,
): Promise<void> {
  const left = plan.shards.filter(shard => !done.has(shard.name))
  let samples = [...done.values()].reduce((sum, shard) => sum + shard.samples, 0)
  const bytesLeft = () => plan.bytes - [...done.values()].reduce((sum, shard) => sum + shard.bytes, 0)
  if (left.length > 0) checkRoom(options.out, bytesLeft())
  try {
    await spread({
      threads: options.workers,
      worker: new URL('./worker.js', import.meta.url),
      setup: { manifest, plugins: options.plugins, order: plan.order, keys: plan.keys, out: options.out },
      start: shardPacker,
      tasks: left,
      onProgress: more => options.onProgress?.((samples += more), plan.samples, 'packing', 'samples'),
      onResult: shard => {
        done.set(shard.name, shard)
        journal.add(shard)
      },
    })
  } catch (error) {
    if (NO_ROOM.has((error as NodeJS.ErrnoException).code ?? ''))
      throw diskFull(options.out, bytesLeft(), error)
    throw error
  }
}

/** Better to hear it now than after an hour of packing. */
function checkRoom(out: string, needed: number): void {
  if (needed > freeBytes(out)) throw diskFull(out, needed)
}

function diskFull(out: string, needed: number, cause?: unknown): SourceError {
  const limited = (cause as NodeJS.ErrnoException | undefined)?.code === 'EFBIG'
  const missing = Math.max(0, needed - freeBytes(out))
  return new SourceError(
    limited
      ? `file size limit reached while writing to ${out}: raise \`ulimit -f\`, or give smaller shards (--shard-size)`
      : `disk full while writing to ${out}: ${needed} bytes are still to be written; ` +
          `free ${missing > 0 ? `${missing} bytes` : 'some space'} or give another --out`,
    { file: out, cause },
  )
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Writes classes.json. Shards of one folder share it, so their numbers must mean the same. */
function keepClasses(out: string, names: string[], force: boolean): string[] {
  const path = join(out, CLASSES)
  if (names.length === 0) return names
  const text = `${JSON.stringify(names, null, 1)}\n`
  if (existsSync(path) && !force && readRegular(path) !== text) {
    throw new SourceError(
      `${path} lists other classes than this source has: the labels would not mean the same. ` +
        'Give another --out, or --force to replace the list',
      { file: path },
    )
  }
  writeWhole(path, text)
  return names
}

function shardList(prefix: string, plan: PackPlan, shards: PackedShard[]): ShardList {
  return {
    __kind__: 'wids-shard-index-v1',
    wids_version: 1,
    name: prefix,
    shardlist: shards.map(({ name, samples, bytes }) => ({ url: name, nsamples: samples, filesize: bytes })),
    millrace: { plan: plan.hash },
  }
}

function readList(path: string): { plan: string; shards: PackedShard[] } | undefined {
  if (!existsSync(path)) return undefined
  try {
    const list = JSON.parse(readRegular(path)) as ShardList
    const shards = list.shardlist.map(s => ({ name: s.url, samples: s.nsamples, bytes: s.filesize }))
    return { plan: list.millrace.plan, shards }
  } catch {
    return undefined // not one of ours: no reason to trust it
  }
}

function listName(prefix: string): string {
  return `${prefix}-shards.json`
}

function isShard(name: string, prefix: string): boolean {
  return name.startsWith(`${prefix}-`) && /^\d+\.tar$/.test(name.slice(prefix.length + 1))
}
