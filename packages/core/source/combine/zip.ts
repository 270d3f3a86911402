/**
 * Sources side by side: row i of the zip has the columns of row i of every part, or, where samples are files, of the row with
 * the same key (pairs.ts). Ids and keys are those of the first part. The parts must have equal counts and no column in common.
 */

import { createHash } from 'node:crypto'
import { SourceError } from '../../basics/errors.js'
import type { Random } from '../../basics/random.js'
import { zipParts } from '../../define/nested.js'
import type { ZipEntry, ZipOf, ZipRules } from '../../define/order-types.js'
import type { SourceJson } from '../../define/types.js'
import { joinedLayouts } from '../layout.js'
import type {
  Columns,
  IndexColumn,
  Layout,
  Leaf,
  Manifest,
  Need,
  Nesting,
  OpenContext,
  Pieces,
  Present,
  Source,
  SourceKind,
  WholeFile,
} from '../source.js'
import { type EveryMember, leavesOf, movingOf } from '../source-wrapper.js'
import { combinedFingerprint, joined } from './combined.js'
import { checkNames, contextBelow, type NamedManifest } from './named.js'
import { isNamedByFiles, pairByKey } from './pairs.js'
import { selectedManifest } from './selected.js'
import { unitsBeside } from './unit-boundaries.js'

interface ZipManifest extends Manifest {
  kind: 'zip'
  children: Manifest[]
}

export const zip: SourceKind<ZipOf<SourceJson>> = {
  async open(json, context, nesting) {
    const { entries, ...rules } = zipParts(json)
    const children: Manifest[] = []
    for (const [i, entry] of entries.entries())
      children.push(await openPart(entry, i, { ...context, indexed: [] }, nesting))
    await indexParts(entries, children, context, nesting)
    checkColumns(children.map(nesting.attach), context.wanted)
    return sideBySide(children, rules, nesting)
  },

  attach(manifest, nesting) {
    return new ZipSource((manifest as ZipManifest).children.map(nesting.attach))
  },
}

class ZipSource implements EveryMember {
  readonly count: number
  readonly columns: readonly string[]
  readonly indexed: readonly string[]
  readonly runs: Float64Array
  readonly keyHash: Source['keyHash']
  readonly unitStarts: Float64Array | undefined
  readonly leaves: readonly Leaf[]
  readonly movesWithEpoch: Source['movesWithEpoch']
  // It is no leaf.
  readonly planUnit = undefined
  readonly unitBytes = undefined
  readonly load = undefined
  readonly unitColumns = undefined
  // A sample has columns of several units.
  readonly asInUnits = undefined
  readonly tokenRows = undefined

  constructor(private readonly parts: readonly Source[]) {
    const [first] = parts
    this.keyHash = first.keyHash && (row => first.keyHash!(row))
    this.count = parts[0].count
    this.columns = [...new Set(parts.flatMap(part => part.columns))]
    this.indexed = [...new Set(parts.flatMap(part => part.indexed ?? []))]
    this.runs = parts[0].runs
    this.unitStarts = unitsBeside(parts, this.runs)
    this.leaves = parts.flatMap(part => leavesOf(part) ?? [])
    this.movesWithEpoch = movingOf(parts)
  }

  id(row: number): string {
    return this.parts[0].id(row)
  }

  key(row: number): string {
    return this.parts[0].key(row)
  }

  where(row: number, column = ''): { file: string; offset: number } | undefined {
    const part = this.parts.find(({ columns }) => columns.includes(column)) ?? this.parts[0]
    return part.where?.(row, column)
  }

  wholeFile(row: number): WholeFile | undefined {
    return this.parts.map(part => part.wholeFile?.(row)).find(file => file !== undefined)
  }

  present(row: number): Present {
    const parts = this.parts.map(part => part.present?.(row) ?? { columns: part.columns })
    const why = parts.flatMap(part => part.why ?? []).join(' ')
    const possible = parts.flatMap((part, i) => part.possible ?? this.parts[i].columns)
    return { columns: parts.flatMap(part => part.columns), possible, ...(why !== '' && { why }) }
  }

  index(name: string): IndexColumn | undefined {
    for (const part of this.parts) {
      const column = part.index(name)
      if (column !== undefined) return column
    }
    return undefined
  }

  need(row: number, epoch: number, columns: readonly string[], out: Need): void {
    for (const part of this.parts) part.need(row, epoch, columns, out)
  }

  enqueueRow(row: number, columns: readonly string[], epoch: number, random: Random): void {
    for (const part of this.parts) part.enqueueRow?.(row, columns, epoch, random)
  }

  sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Columns {
    const out: Columns = {}
    let [ranges, units] = [0, 0]
    for (const part of this.parts) {
      const needed: Need = { ranges: [], units: [] }
      part.need(row, epoch, columns, needed)
      const own = {
        ranges: got.ranges.slice(ranges, (ranges += needed.ranges.length)),
        units: got.units.slice(units, (units += needed.units.length)),
      }
      Object.assign(out, part.sample(row, epoch, columns, own))
    }
    return out
  }

  layout(): Layout | undefined {
    return joinedLayouts(this.parts.map(part => part.layout?.()))
  }
}

/** Opens a source of a zip, and gives its columns their new names. */
async function openPart(
  entry: ZipEntry<SourceJson>,
  number: number,
  context: OpenContext,
  nesting: Nesting,
): Promise<Manifest> {
  if (!('source' in entry)) return nesting.open(entry, context)
  const { source, rename = {} } = entry
  const child = await nesting.open(source, contextBelow(context, rename))
  checkNames(`zip: source ${number}`, rename, nesting.attach(child))
  const { fingerprint, stamp, content, indexBytes } = child
  const manifest: NamedManifest = {
    kind: 'named',
    fingerprint,
    stamp,
    ...(content !== undefined && { content }),
    indexBytes,
    rename,
    child,
  }
  return manifest
}

/** Manifests side by side, of files those with the same keys. Which rows these are belongs to the order where it is not what positions say. */
function sideBySide(children: Manifest[], { by, key }: ZipRules, nesting: Nesting): ZipManifest {
  const prints = children.map(child => child.fingerprint)
  const paired = [...children]
  const parts = children.map(nesting.attach)
  const sides = parts.flatMap((source, number) =>
    by !== 'position' && isNamedByFiles(children[number]) ? [{ source, number, pattern: key?.[number] }] : [],
  )
  if (key !== undefined && sides.length < parts.length)
    throw new SourceError(
      'zip: "key" goes with sources whose samples are files with names of their own: leave it out, rows are then paired by position',
    )
  const hash = createHash('sha256')
  let moved = false
  for (const [i, rows] of (sides.length > 1 ? pairByKey(sides) : []).entries()) {
    const { number, source } = sides[i + 1]
    if (rows === undefined) continue
    moved = true
    hash.update(`${number}\n`).update(rows)
    const selection = { rows, count: rows.length }
    paired[number] = selectedManifest('subset', null, children[number], source, selection, false)
  }
  checkCounts(parts)
  return {
    kind: 'zip',
    fingerprint: combinedFingerprint(
      'zip',
      prints[0].count,
      null,
      prints,
      moved ? hash.digest('hex').slice(0, 32) : undefined,
    ),
    stamp: joined(children.map(child => child.stamp)),
    indexBytes: paired.reduce((sum, child) => sum + child.indexBytes, 0),
    children: paired,
  }
}

/** Columns that no part has in its index are read by the first part that has them. */
async function indexParts(
  entries: readonly ZipEntry<SourceJson>[],
  children: Manifest[],
  context: OpenContext,
  nesting: Nesting,
): Promise<void> {
  const { indexed = [] } = context
  if (indexed.length === 0) return
  const parts = children.map(nesting.attach)
  const missing = indexed.filter(name => parts.every(part => part.index(name) === undefined))
  for (const [i, part] of parts.entries()) {
    const own = missing.filter(name => part.columns.includes(name) && !isBefore(parts, i, name))
    if (own.length > 0) children[i] = await openPart(entries[i], i, { ...context, indexed: own }, nesting)
  }
}

function isBefore(parts: readonly Source[], i: number, name: string): boolean {
  return parts.slice(0, i).some(part => part.columns.includes(name))
}

function checkCounts(parts: readonly Source[]): void {
  const counts = parts.map(part => part.count)
  if (counts.every(count => count === counts[0])) return
  throw new SourceError(
    `the sources of a zip have ${counts.join(', ')} samples: they must be equal; take a subset of the longer ones`,
  )
}

function checkColumns(parts: readonly Source[], wanted: readonly string[]): void {
  const seen = new Map<string, number>()
  parts.forEach((part, i) => {
    for (const column of part.columns) {
      const before = seen.get(column)
      // A column that no field asks for can't be mistaken.
      if (before !== undefined && wanted.includes(column)) {
        throw new SourceError(
          `column "${column}" is in source ${before} and in source ${i} of a zip: a field can't tell which is meant; ` +
            `give it another name in one of them: {"zip": [{"source": …, "rename": {"${column}": NAME}}, …]}`,
        )
      }
      if (before === undefined) seen.set(column, i)
    }
  })
}
