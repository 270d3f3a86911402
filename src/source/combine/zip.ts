/**
 * Sources side by side: row i of the zip has the columns of row i of every part. Ids and keys are those of the
 * first part. The parts must have equal counts and no column in common.
 */
import { SourceError } from '../../basics/errors.js'
import type { Random } from '../../basics/random.js'
import type { SourceJson } from '../../define/types.js'
import { type EveryMember, leavesOf, movingOf } from '../around.js'
import { joinedLayouts } from '../layout.js'
import type {
  Column,
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
import { combinedFingerprint, joined } from './combined.js'
import { unitsBeside } from './unit-borders.js'

interface ZipManifest extends Manifest {
  kind: 'zip'
  children: Manifest[]
}

export const zip: SourceKind<SourceJson[]> = {
  async open(json, context, nesting) {
    const children: Manifest[] = []
    for (const child of json) children.push(await nesting.open(child, { ...context, indexed: [] }))
    await indexParts(json, children, context, nesting)
    checkParts(children.map(nesting.attach), context.wanted)
    const prints = children.map(child => child.fingerprint)
    const manifest: ZipManifest = {
      kind: 'zip',
      fingerprint: combinedFingerprint('zip', prints[0].count, null, prints),
      stamp: joined(children.map(child => child.stamp)),
      indexBytes: children.reduce((sum, child) => sum + child.indexBytes, 0),
      children,
    }
    return manifest
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

  where(row: number): { file: string; offset: number } | undefined {
    return this.parts[0].where?.(row)
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

  foresee(row: number, columns: readonly string[], epoch: number, random: Random): void {
    for (const part of this.parts) part.foresee?.(row, columns, epoch, random)
  }

  sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Record<string, Column> {
    const out: Record<string, Column> = {}
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

/** Columns that no part has in its index are read by the first part that has them. */
async function indexParts(
  json: readonly SourceJson[],
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
    if (own.length > 0) children[i] = await nesting.open(json[i], { ...context, indexed: own })
  }
}

function isBefore(parts: readonly Source[], i: number, name: string): boolean {
  return parts.slice(0, i).some(part => part.columns.includes(name))
}

function checkParts(parts: readonly Source[], wanted: readonly string[]): void {
  const counts = parts.map(part => part.count)
  if (counts.some(count => count !== counts[0])) {
    throw new SourceError(
      `the sources of a zip have ${counts.join(', ')} samples: they must be equal; take a subset of the longer ones`,
    )
  }
  const seen = new Map<string, number>()
  parts.forEach((part, i) => {
    for (const column of part.columns) {
      const before = seen.get(column)
      // A column that no field asks for can't be mistaken.
      if (before !== undefined && wanted.includes(column)) {
        throw new SourceError(
          `column "${column}" is in source ${before} and in source ${i} of a zip: a field can't tell which is meant; ` +
            'rename the members of one of them; {"npy": {…, "column": NAME}} names that of .npy files',
        )
      }
      if (before === undefined) seen.set(column, i)
    }
  })
}
