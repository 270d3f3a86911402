/**
 * A source with the values of some columns in an index. It stands around a format that keeps no such values itself: a
 * definition selects, groups or weighs rows by these columns, so they were read once, when the feed was opened (values/open.ts).
 * Not to be written in a definition: `openSource` makes it.
 */
import { SourceError } from '../../basics/errors.js'
import { attachedIndex } from '../index/file.js'
import type { IndexColumn, Manifest, Source, SourceKind } from '../source.js'
import { SourceWrapper } from '../source-wrapper.js'
import type { TokenRows } from '../token-rows.js'

/** A column whose values lie in an index file: `value`, and `null` (1: no value) where rows lack one. */
export interface ValueColumn extends Pick<IndexColumn, 'type' | 'digits'> {
  name: string
  path: string
  checksum: number
}

export interface ValuedManifest extends Manifest {
  kind: 'valued'
  child: Manifest
  values: ValueColumn[]
}

export const valued: SourceKind<never> = {
  open() {
    throw new SourceError('"valued" is no source of its own: name the source whose columns are meant')
  },

  attach(manifest, nesting) {
    const { child, values } = manifest as ValuedManifest
    return new ValuedSource(nesting.attach(child), values)
  },
}

class ValuedSource extends SourceWrapper {
  constructor(
    source: Source,
    private readonly values: readonly ValueColumn[],
  ) {
    super(source, { indexed: [...(source.indexed ?? []), ...values.map(({ name }) => name)] })
  }

  /** Samples are those of the source below. */
  override get asInUnits(): boolean | undefined {
    return this.source.asInUnits
  }

  override get tokenRows(): TokenRows | undefined {
    return this.source.tokenRows
  }

  override index(name: string): IndexColumn | undefined {
    const found = this.values.find(column => column.name === name)
    return found === undefined ? super.index(name) : readColumn(found)
  }
}

function readColumn({ path, checksum, type, digits }: ValueColumn): IndexColumn {
  const index = attachedIndex(path, checksum)
  const nulls = index.has('null') ? index.numbers('null') : undefined
  const value = type === 'number' ? index.numbers('value') : index.text('value')
  const at = 'bytes' in value ? (row: number) => value.at(row) : (row: number) => value[row]
  return { type, ...(digits && { digits }), at: row => (nulls?.[row] === 1 ? undefined : at(row)) }
}
