/**
 * Some rows of a source, in a given order. `subset` and `split` compute which rows, once, when they are opened; all threads
 * share the result.
 */

import { createHash } from 'node:crypto'
import { SourceError } from '../../basics/errors.js'
import { lastAtMost } from '../../basics/search.js'
import type { IndexColumn, Manifest, Nesting, Source } from '../source.js'
import { SourceWrapper } from '../source-wrapper.js'
import type { TokenRows } from '../token-rows.js'
import { combinedFingerprint } from './combined.js'
import { withBoundaries } from './unit-boundaries.js'

/** Rows of a source: a stretch, or a list in shared memory. */
export type Selection = { from: number; count: number } | { rows: Uint32Array | Float64Array; count: number }

export interface SelectedManifest extends Manifest {
  child: Manifest
  selection: Selection
  /** First selected row of each unit, where rows of the source share units. */
  unitStarts: Float64Array | undefined
}

/** Collects row numbers below `limit` into shared memory. */
export class RowCollector {
  private rows: Uint32Array | Float64Array
  private count = 0

  constructor(private readonly limit: number) {
    this.rows = this.allocate(1024)
  }

  add(row: number): void {
    if (this.count === this.rows.length) {
      const larger = this.allocate(Math.min(this.limit, 2 * this.count))
      larger.set(this.rows)
      this.rows = larger
    }
    this.rows[this.count++] = row
  }

  finish(): Selection {
    return { rows: this.rows.subarray(0, this.count), count: this.count }
  }

  private allocate(length: number): Uint32Array | Float64Array {
    return this.limit <= 2 ** 32
      ? new Uint32Array(new SharedArrayBuffer(4 * length))
      : new Float64Array(new SharedArrayBuffer(8 * length))
  }
}

/**
 * The manifest of a selection. `kind` and `parameters` go into the fingerprint, and, where values of index columns decided
 * over them (`byValues`), the selected rows.
 */
export function selectedManifest(
  kind: string,
  parameters: unknown,
  child: Manifest,
  source: Source,
  selection: Selection,
  byValues: boolean,
): SelectedManifest {
  if (selection.count === 0) {
    const why =
      kind === 'split'
        ? ': with few samples or groups a part may be empty; take another "seed", or "stratifyBy"'
        : ''
    throw new SourceError(
      `${kind} ${JSON.stringify(parameters)} selects none of ${source.count} samples${why}`,
    )
  }
  const unitStarts = source.unitStarts && cutUnits(source.unitStarts, source.runs, selection)
  const bytes = 'rows' in selection ? selection.rows.buffer.byteLength : 0
  const values = byValues && 'rows' in selection ? digestOf(selection.rows) : undefined
  return {
    kind,
    fingerprint: combinedFingerprint(kind, selection.count, parameters, [child.fingerprint], values),
    stamp: child.stamp,
    indexBytes: child.indexBytes + bytes + (unitStarts?.byteLength ?? 0),
    child,
    selection,
    unitStarts,
  }
}

function digestOf(rows: Uint32Array | Float64Array): string {
  return createHash('sha256').update(rows).digest('hex').slice(0, 32)
}

export function attachSelected(manifest: Manifest, nesting: Nesting): Source {
  const { child, selection, unitStarts } = manifest as SelectedManifest
  return new SelectedSource(nesting.attach(child), selection, unitStarts)
}

class SelectedSource extends SourceWrapper {
  private readonly at: (row: number) => number
  private cutRuns: Float64Array | undefined

  constructor(
    source: Source,
    private readonly selection: Selection,
    private readonly cut: Float64Array | undefined,
  ) {
    super(source, { count: selection.count })
    this.at = picker(selection)
  }

  /** A new run begins with each run of the source, and wherever the rows step back. Made when first asked for. */
  override get runs(): Float64Array {
    this.cutRuns ??= cutRuns(this.source.runs, this.selection)
    return this.cutRuns
  }

  override index(name: string): IndexColumn | undefined {
    const column = this.source.index(name)
    return column && { ...column, at: row => column.at(this.at(row)) }
  }

  override get unitStarts(): Float64Array | undefined {
    return this.cut
  }

  override get asInUnits(): boolean | undefined {
    return this.source.asInUnits
  }

  override get tokenRows(): TokenRows | undefined {
    const { tokenRows } = this.source
    if (tokenRows === undefined) return undefined
    const stretches: TokenRows['stretches'] = (row, epoch, out) =>
      tokenRows.stretches(this.at(row), epoch, out)
    return Object.create(tokenRows, { stretches: { value: stretches } })
  }

  protected override rowBelow(row: number): number {
    return this.at(row)
  }
}

function picker(selection: Selection): (row: number) => number {
  if ('from' in selection) {
    const { from } = selection
    return row => from + row
  }
  const { rows } = selection
  return row => rows[row]
}

/** Consecutive selected rows that lie in one unit of the source are one unit here, unless a run begins between them. */
function cutUnits(units: Float64Array, runs: Float64Array, selection: Selection): Float64Array {
  return withBoundaries(cutRuns(units, selection), cutRuns(runs, selection))
}

/** Where the rows leave a stretch of the source, or step back. `runs` are the first rows of the stretches. */
function cutRuns(runs: Float64Array, selection: Selection): Float64Array {
  const at = picker(selection)
  const starts: number[] = []
  let run = -1
  let last = -1
  for (let row = 0; row < selection.count; row++) {
    const below = at(row)
    const inside = run >= 0 && below > last && (run + 1 === runs.length || below < runs[run + 1])
    if (!inside) {
      starts.push(row)
      run = lastAtMost(runs, below)
    }
    last = below
  }
  return Float64Array.from(starts)
}
