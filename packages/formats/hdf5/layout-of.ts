/** How datasets lie in their files, for `inspect`. */
import type { ColumnLayout, Layout } from '../../core/source/layout.js'
import { LIES } from './dataset.js'
import { filterName } from './filters.js'
import type { FileDataset } from './hdf5-file.js'
import { formOf, membersOf, typeText } from './value.js'

interface Described {
  name: string
  dataset: FileDataset | undefined
  /** The same dataset of other samples, where samples are groups. */
  others?: readonly FileDataset[]
  notes: { axes: string; note: string } | undefined
}

/** A slab of so many loaded bytes, of which a sample is a small part, is dear to read at random. */
const LARGE_SLAB = 4 << 20
const FEW_OF_MANY = 16

/** Of the datasets of the first sample; sizes that differ in others are `n`. */
export function layoutOf(sets: readonly Described[]): Layout {
  const schema: ColumnLayout[] = []
  const chunks: string[] = []
  const codecs = new Set<string>()
  let slow: string | undefined
  for (const { name, dataset, others = [], notes } of sets) {
    if (dataset === undefined) continue
    const dims = dataset.rows ? dataset.dims.slice(1) : dataset.dims
    const axes = notes?.axes
      ? ` (${dataset.rows ? notes.axes.split(',').slice(1).join(', ') : notes.axes})`
      : ''
    for (const member of membersOf(name, dataset.kind.type).members) {
      const { shape } = formOf(member, dims, dataset.element)
      const type = typeText({ ...member.type, dims: [] })
      const sizes = shape.map((size, i) =>
        others.some(({ dims }) => (dims[i] ?? size) !== size) ? 'n' : size,
      )
      const sides = shape.length === 0 ? '' : ` [${sizes.join(', ')}]${axes}`
      schema.push({ name: member.column, type: `${type}${sides}${notes?.note ? `, ${notes.note}` : ''}` })
    }
    for (const { kind } of [dataset, ...others])
      for (const filter of kind.filters) codecs.add(filterName(filter))
    if (dataset.lies === LIES.chunked) chunks.push(`${name} in chunks of [${dataset.chunk.join(', ')}]`)
    slow ??= slowness(name, dataset)
  }
  return {
    schema,
    chunks: chunks.length === 0 ? 'not chunked' : chunks.join(', '),
    ...(codecs.size > 0 && { codecs: [...codecs] }),
    ...(slow !== undefined && { slow }),
  }
}

function slowness(name: string, dataset: FileDataset): string | undefined {
  if (!dataset.rows || !dataset.shares) return undefined
  const { slabRows, rowBytes } = dataset
  if (slabRows < FEW_OF_MANY || slabRows * rowBytes < LARGE_SLAB) return undefined
  return (
    `A row of "${name}" shares its chunks with ${slabRows - 1} others, of ${Math.round((slabRows * rowBytes) / 2 ** 20)} MiB in all: ` +
    'shuffle by windows, or rewrite it with chunks of one or a few rows (`h5repack -l CHUNK=…`).'
  )
}
