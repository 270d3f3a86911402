/** How Arrow files lie there, for `inspect`. */
import type { ColumnLayout, Layout } from '../../core/source/layout.js'
import { typeWithClasses } from '../features.js'
import type { ArrowManifest } from './arrow-source.js'
import type { ArrowIndex } from './build/index.js'

/** A batch of more bytes than this takes too much of the cache to be read at random, if it is compressed. */
const LARGE_BATCH = 16 << 20

/** Batches of fewer rows are read one by one, in small reads. */
const FEW_ROWS = 16

export function layoutOf(manifest: ArrowManifest, indexes: readonly ArrowIndex[]): Layout {
  const batches = indexes.reduce((sum, { meta }) => sum + meta.batches, 0)
  const { count, parts = [] } = manifest.fingerprint
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  const codecs = [...new Set(indexes.flatMap(({ meta }) => meta.codecs))]
  const forms = [...new Set(indexes.map(({ meta }) => meta.form))]
  const each = Math.round(count / Math.max(1, batches))
  const slow = slowness(manifest, batches, codecs, bytes / Math.max(1, batches), each)
  return {
    schema: columnsOf(manifest, indexes),
    chunks: `${batches} record ${batches === 1 ? 'batch' : 'batches'} of ${each} rows, ${forms.join(' and ')}`,
    codecs: codecs.length > 0 ? codecs : ['none'],
    ...(slow !== undefined && { slow }),
  }
}

function columnsOf({ schemas, classes }: ArrowManifest, indexes: readonly ArrowIndex[]): ColumnLayout[] {
  const columns = new Map<string, ColumnLayout>()
  for (const schema of schemas) {
    for (const { name, field } of schema.columns) {
      const nulls = indexes.reduce((sum, { meta }) => sum + (meta.nulls[name] ?? 0), 0)
      const type = typeWithClasses(field.type, name, classes)
      if (!columns.has(name)) columns.set(name, { name, type, nulls })
    }
  }
  return [...columns.values()]
}

function slowness(
  { files }: ArrowManifest,
  batches: number,
  codecs: readonly string[],
  batchBytes: number,
  rows: number,
): string | undefined {
  if (codecs.length > 0 && batchBytes > LARGE_BATCH)
    return (
      `A batch is unpacked as a whole, and has ${Math.round(batchBytes / 2 ** 20)} MiB: ` +
      'write smaller batches, or leave them uncompressed.'
    )
  if (rows < FEW_ROWS && batches > 2 * files.length)
    return `A batch has ${rows} rows, so reads are small: write larger batches, 1,000 rows or more.`
  return undefined
}
