/**
 * Sources one after the other: the rows and runs of each part are counted on from those before it. The number of the
 * part stands before an id, since two parts may have the same ids.
 */
import type { Random } from '../../basics/random.js'
import type { SourceJson } from '../../define/types.js'
import { folderClasses } from '../classes.js'
import { joinedLayouts } from '../layout.js'
import type {
  Columns,
  IndexColumn,
  Layout,
  Leaf,
  Manifest,
  Need,
  OpenContext,
  Pieces,
  Present,
  Source,
  SourceKind,
  WholeFile,
} from '../source.js'
import { type EveryMember, leavesOf, movingOf } from '../source-wrapper.js'
import { combinedFingerprint, joined } from './combined.js'
import { unitsInTurn } from './unit-boundaries.js'

interface ConcatManifest extends Manifest {
  kind: 'concat'
  children: Manifest[]
}

export const concat: SourceKind<SourceJson[]> = {
  async open(json, context, nesting) {
    const children: Manifest[] = []
    for (const child of json) children.push(await nesting.open(child, context))
    tellOfLabels(children, context)
    const prints = children.map(child => child.fingerprint)
    const count = prints.reduce((sum, print) => sum + print.count, 0)
    const manifest: ConcatManifest = {
      kind: 'concat',
      fingerprint: combinedFingerprint('concat', count, null, prints),
      stamp: joined(children.map(child => child.stamp)),
      indexBytes: children.reduce((sum, child) => sum + child.indexBytes, 0),
      children,
    }
    return manifest
  },

  attach(manifest, nesting) {
    return new ConcatSource((manifest as ConcatManifest).children.map(nesting.attach))
  },
}

/** Folders number their classes each for itself: where a number means different classes, that is said. */
function tellOfLabels(children: readonly Manifest[], { wanted, notice }: OpenContext): void {
  if (!wanted.includes('label')) return
  const lists = children.map(folderClasses).filter(list => list !== undefined)
  for (const list of lists) {
    const label = list.findIndex((name, i) => i < lists[0].length && name !== lists[0][i])
    if (label < 0) continue
    notice?.(
      `label ${label} is "${lists[0][label]}" in one folder of this concat and "${list[label]}" in another: ` +
        'give all of them the same "classes"',
    )
    return
  }
}

class ConcatSource implements EveryMember {
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
  readonly asInUnits: boolean
  // Rows of several sources of tokens are a blend, or one source with several files.
  readonly tokenRows = undefined
  /** First row of each part, and the count at the end. */
  private readonly rows: Float64Array

  constructor(private readonly parts: readonly Source[]) {
    this.rows = sums(parts.map(part => part.count))
    this.count = this.rows[parts.length]
    this.columns = [...new Set(parts.flatMap(part => part.columns))]
    this.runs = Float64Array.from(
      parts.flatMap((part, i) => Array.from(part.runs, run => this.rows[i] + run)),
    )
    this.unitStarts = unitsInTurn(parts, this.rows)
    this.leaves = parts.flatMap(part => leavesOf(part) ?? [])
    this.movesWithEpoch = movingOf(parts)
    this.asInUnits = parts.every(part => part.asInUnits)
    if (parts.every(part => part.keyHash !== undefined)) {
      this.keyHash = row => {
        const i = find(this.rows, row)
        return parts[i].keyHash!(row - this.rows[i])
      }
    }
    // A column can be asked for only if every part has it.
    this.indexed = (parts[0].indexed ?? []).filter(name => parts.every(part => part.indexed?.includes(name)))
  }

  id(row: number, epoch?: number): string {
    const i = find(this.rows, row)
    return `${i}/${this.parts[i].id(row - this.rows[i], epoch)}`
  }

  key(row: number): string {
    const i = find(this.rows, row)
    return this.parts[i].key(row - this.rows[i])
  }

  where(row: number, column?: string): { file: string; offset: number } | undefined {
    const i = find(this.rows, row)
    return this.parts[i].where?.(row - this.rows[i], column)
  }

  wholeFile(row: number): WholeFile | undefined {
    const i = find(this.rows, row)
    return this.parts[i].wholeFile?.(row - this.rows[i])
  }

  present(row: number): Present {
    const i = find(this.rows, row)
    const part = this.parts[i]
    const present = part.present?.(row - this.rows[i]) ?? { columns: part.columns }
    return { possible: part.columns, ...present }
  }

  index(name: string): IndexColumn | undefined {
    const columns = this.parts.map(part => part.index(name))
    if (columns.some(column => column === undefined)) return undefined
    const number = columns.every(column => column?.type === 'number')
    const digits = !number && columns.every(column => column?.digits || column?.type === 'number')
    const at = (row: number): number | string | undefined => {
      const i = find(this.rows, row)
      const value = columns[i]?.at(row - this.rows[i])
      return number || value === undefined ? value : String(value)
    }
    const lengthOf = columns[0]?.lengthOf?.filter(one =>
      columns.every(column => column?.lengthOf?.includes(one)),
    )
    return {
      type: number ? 'number' : 'string',
      ...(digits && { digits }),
      ...(lengthOf && { lengthOf }),
      at,
    }
  }

  need(row: number, epoch: number, columns: readonly string[], out: Need): void {
    const i = find(this.rows, row)
    this.parts[i].need(row - this.rows[i], epoch, columns, out)
  }

  enqueueRow(row: number, columns: readonly string[], epoch: number, random: Random): void {
    const i = find(this.rows, row)
    this.parts[i].enqueueRow?.(row - this.rows[i], columns, epoch, random)
  }

  sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Columns {
    const i = find(this.rows, row)
    return this.parts[i].sample(row - this.rows[i], epoch, columns, got)
  }

  layout(): Layout | undefined {
    return joinedLayouts(this.parts.map(part => part.layout?.()))
  }
}

function sums(counts: readonly number[]): Float64Array {
  const out = new Float64Array(counts.length + 1)
  counts.forEach((count, i) => {
    out[i + 1] = out[i] + count
  })
  return out
}

/** The last part that begins at or before `n` and is not empty. Combinations have few parts. */
function find(starts: Float64Array, n: number): number {
  let i = 0
  while (i < starts.length - 2 && starts[i + 1] <= n) i++
  return i
}
