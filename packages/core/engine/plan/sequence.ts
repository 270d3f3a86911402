/**
 * Context parallelism: several ranks have the same rows, each a part of their length. Which part, is arithmetic.
 *
 *   zigzag, 2 ranks       chunks  0 1 2 3       rank 0 has 0 and 3, rank 1 has 1 and 2: with causal attention, which costs
 *                                               more the further behind, all ranks have the same work
 *   contiguous, 2 ranks   chunks  0 1           rank r has chunk r
 *
 * Columns along the row are cut; those about its segments stay whole. No hash and no state knows of this.
 */
import { DefinitionError } from '../../basics/errors.js'
import { columnsAlongRow } from '../../define/check/tokens/fields.js'
import type { RowWindow, SlotField } from '../../define/making.js'
import type { NormalFeed } from '../../define/types.js'

export interface Sequence {
  rank: number
  world: number
  layout: 'zigzag' | 'contiguous'
}

/** The parts of a row of `length` places that a rank has. */
export function windowsOf({ rank, world, layout }: Sequence, length: number): RowWindow[] {
  const chunks = layout === 'zigzag' ? 2 * world : world
  if (length % chunks !== 0)
    throw new DefinitionError(
      'options.sequence',
      `rows of ${length} tokens can't be cut into ${chunks} equal chunks (${layout}, ${world} ranks): ` +
        `make "length" a multiple of ${chunks}${layout === 'zigzag' && length % world === 0 ? ', or take the layout "contiguous"' : ''}`,
    )
  const each = length / chunks
  const mine = layout === 'zigzag' ? [rank, chunks - 1 - rank] : [rank]
  return mine.map((chunk, i) => ({ from: chunk * each, to: (chunk + 1) * each, at: i * each }))
}

/** The layouts of a feed's fields as this rank of the sequence has them. */
export function cutLayouts(
  { source, fields, map, rowTokens }: NormalFeed,
  sequence: Sequence,
  layouts: readonly SlotField[],
): SlotField[] {
  if (rowTokens === undefined)
    throw new DefinitionError(
      'options.sequence',
      'only feeds of tokens are cut along their rows: leave it out',
    )
  const windows = windowsOf(sequence, rowTokens)
  const places = windows.reduce((sum, { from, to }) => sum + to - from, 0)
  const along = columnsAlongRow(source)
  return layouts.map((layout, i) => {
    const { name, from, apply, map: own } = fields[i]
    if (!from.some(column => along.includes(column))) return layout
    if (map !== undefined || own !== undefined || apply.length > 0 || layout.form !== 'dense')
      throw new DefinitionError(
        'options.sequence',
        `field "${name}" can't be cut along its rows: only columns of tokens as they are can, of one length`,
      )
    return { ...layout, shape: [places], windows }
  })
}

/** Which ranks get the same rows, in a sentence. */
export function sequenceNotice(
  { rank, world, layout }: Sequence,
  data: { rank: number; world: number },
): string {
  return (
    `the ${world} ranks of this sequence have the same rows, each a part of their length (${layout}): this one is rank ${rank} of them, ` +
    `and data-parallel rank ${data.rank} of ${data.world}`
  )
}
