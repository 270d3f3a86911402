/**
 * The units of a file. A row group is one. A row group of very many bytes is several, if it is known in which rows its pages
 * begin: borders are those of pages of its largest column. A page of another column that reaches over a border is read for both.
 */
import { MillraceError } from '../../core/basics/errors.js'
import { NumberBuilder } from '../../core/source/index/columns.js'
import type { ReadAt } from '../../core/source/index/read-at.js'
import type { Footer } from './structure/footer.js'
import { findPages, type Pages } from './structure/pages.js'

/** A row group with more than this is divided, if it can be; each unit has about `PART`. In bytes, decompressed. */
const LARGE = 64 << 20
const PART = 16 << 20

/** Columns with a number for each (unit, leaf). */
export const UNIT_COLUMNS = ['start', 'length', 'raw', 'values', 'codec', 'encodings', 'text'] as const
/** The same, where a file has units that are parts of row groups. */
export const PART_COLUMNS = [
  'skip', // rows of its first page that belong to the unit before
  'rows', // rows of its pages
  'dictionaryAt', // where its dictionary lies, if that is read by itself
  'dictionaryLength',
] as const

type UnitColumn = (typeof UNIT_COLUMNS)[number]
type PartColumn = (typeof PART_COLUMNS)[number]

export interface Units {
  unitRows: NumberBuilder
  columns: Record<string, NumberBuilder>
}

/** The units of a file; `texts` are the bytes of texts that were measured, `large` is what a row group must exceed to be divided. */
export async function unitsOf(
  footer: Footer,
  read: ReadAt,
  texts: ReadonlyMap<number, readonly number[]>,
  large = LARGE,
  part = PART,
): Promise<Units> {
  const { groupRows, groupBytes, chunks, leaves } = footer
  let isDivided = false
  for (let group = 0; group < groupRows.length; group++) isDivided ||= groupBytes.at(group) > large
  const whole = Object.fromEntries(UNIT_COLUMNS.map(name => [name, chunks[name]]))
  if (!isDivided) return { unitRows: groupRows, columns: whole }
  const units = new UnitBuilder(texts)
  for (let group = 0; group < groupRows.length; group++) {
    const first = group * leaves.length
    const rows = groupRows.at(group)
    const pages = groupBytes.at(group) > large ? await pagesOf(footer, group, read) : undefined
    const borders = pages && bordersOf(pages, rows, (part * rows) / groupBytes.at(group))
    if (pages === undefined || borders === undefined) units.pushGroup(footer, first, rows)
    else
      for (let i = 0; i + 1 < borders.length; i++)
        units.pushPart(footer, first, pages, borders[i], borders[i + 1], rows)
  }
  return units.divided ? units : { unitRows: groupRows, columns: whole }
}

/** The pages of all chunks of a row group; undefined where it is not known of all which rows they have. */
async function pagesOf(
  { chunks, leaves, groupRows }: Footer,
  group: number,
  read: ReadAt,
): Promise<Pages[] | undefined> {
  const all: Pages[] = []
  for (let leaf = 0; leaf < leaves.length; leaf++) {
    const at = group * leaves.length + leaf
    const place = {
      start: chunks.start.at(at),
      length: chunks.length.at(at),
      values: chunks.values.at(at),
      pagesAt: chunks.pagesAt.at(at),
      pagesLength: chunks.pagesLength.at(at),
      codec: chunks.codec.at(at),
      repetition: leaves[leaf].repetition,
    }
    try {
      const pages = await findPages(place, read)
      if (pages === undefined || !ascends(pages.firstRow, groupRows.at(group))) return undefined
      all.push(pages)
    } catch (error) {
      // Damaged: that is told when the row group is loaded.
      if (error instanceof MillraceError) return undefined
      throw error
    }
  }
  return all
}

/** Whether pages begin in these rows, one after the other: an offset index may say anything. */
function ascends(firstRow: readonly number[], rows: number): boolean {
  return firstRow[0] === 0 && firstRow.every((row, i) => row < (firstRow[i + 1] ?? rows))
}

/** The first row of each part, and the end: at pages of the largest column. Undefined where there is but one part. */
function bordersOf(pages: readonly Pages[], rows: number, partRows: number): number[] | undefined {
  const bytes = pages.map(({ raw }) => raw.reduce((sum, one) => sum + one, 0))
  const { firstRow } = pages[bytes.indexOf(Math.max(...bytes))]
  const borders = [0]
  for (const row of firstRow)
    if (row - borders[borders.length - 1] >= partRows && row < rows) borders.push(row)
  borders.push(rows)
  return borders.length > 2 ? borders : undefined
}

class UnitBuilder implements Units {
  readonly unitRows = new NumberBuilder()
  readonly columns = Object.fromEntries(
    [...UNIT_COLUMNS, ...PART_COLUMNS].map(name => [name, new NumberBuilder()]),
  ) as Record<UnitColumn | PartColumn, NumberBuilder>
  divided = false

  constructor(private readonly texts: ReadonlyMap<number, readonly number[]>) {}

  pushGroup({ chunks, leaves }: Footer, first: number, rows: number): void {
    this.unitRows.push(rows)
    for (let leaf = 0; leaf < leaves.length; leaf++) {
      for (const name of UNIT_COLUMNS) this.columns[name].push(chunks[name].at(first + leaf))
      this.push({ skip: 0, rows, dictionaryAt: 0, dictionaryLength: 0 })
    }
  }

  pushPart(
    { chunks }: Footer,
    first: number,
    all: readonly Pages[],
    from: number,
    to: number,
    rows: number,
  ): void {
    this.divided = true
    this.unitRows.push(to - from)
    all.forEach((pages, leaf) => {
      const { at, length, raw, values, firstRow, dictionary } = pages
      const texts = this.texts.get(first + leaf)
      const begin = Math.max(
        0,
        firstRow.findIndex((row, i) => row <= from && (firstRow[i + 1] ?? rows) > from),
      )
      let end = begin
      while (end < at.length && firstRow[end] < to) end++
      const sum = (numbers: readonly number[]): number => numbers.slice(begin, end).reduce((a, b) => a + b, 0)
      this.push({
        start: at[begin],
        length: at[end - 1] + length[end - 1] - at[begin],
        raw: sum(raw) + (dictionary?.raw ?? 0),
        values: sum(values),
        codec: chunks.codec.at(first + leaf),
        encodings: chunks.encodings.at(first + leaf),
        // Pages that were joined can't be told apart from the others.
        text: texts?.length === at.length ? sum(texts) : chunks.text.at(first + leaf),
        skip: from - firstRow[begin],
        rows: (firstRow[end] ?? rows) - firstRow[begin],
        dictionaryAt: dictionary?.at ?? 0,
        dictionaryLength: dictionary?.length ?? 0,
      })
    })
  }

  private push(numbers: Partial<Record<UnitColumn | PartColumn, number>>): void {
    for (const [name, number] of Object.entries(numbers)) this.columns[name as UnitColumn].push(number)
  }
}
