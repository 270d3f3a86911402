/** The gallery: rows of the newest batch that is ready, as the trainer gets them, with their labels. */
import { setTimeout as sleep } from 'node:timers/promises'
import { elements } from '../../../core/basics/dtype.js'
import type { FieldPlace } from '../../../core/batch/layout.js'
import { Header, RowStatus } from '../../../core/batch/slot-words.js'
import type { RingNote } from '../../../core/engine/ring/ring-note.js'
import type { ToldField } from '../../../core/engine/ring/told-definition.js'
import type { Gallery } from '../view.js'
import { compressedPicture } from './compressed.js'
import { Elements } from './elements.js'
import { drawBoxes, imageOf, maskOf, type Normalize } from './pixels.js'
import { dataUrl, type Rgb } from './png.js'
import { type ReadyBatch, RingBytes } from './ring-bytes.js'

/** For so long (ms) a batch is waited for that stays while it is read, and how often it is looked for. */
const MOST_WAIT_MS = 3000
const LOOK_EVERY_MS = 2
/** Bytes of one row of one field that are read at most, and of all rows together. */
const MOST_ROW = 2 ** 26
const MOST_BYTES = 2 ** 28
/** Bytes of a row's text or numbers that are read. */
const MOST_VALUE = 4096

type Row = Gallery['rows'][number]

const NOTHING: Gallery = { batch: -1, epoch: 0, step: 0, reason: null, rows: [] }

/** Where the trainer waits for its batches, each is there for a moment only: it may take some looks to read one. */
export async function gallery(engine: number, note: RingNote | undefined, rows: number): Promise<Gallery> {
  if (note === undefined) return { ...NOTHING, reason: 'this engine does not tell where its batches lie' }
  const ring = RingBytes.open(engine, note)
  if (ring === undefined) return { ...NOTHING, reason: 'the feed is closed' }
  let few = rows
  try {
    for (
      const until = performance.now() + MOST_WAIT_MS;
      performance.now() < until;
      await sleep(LOOK_EVERY_MS)
    ) {
      for (const batch of ring.ready()) {
        const read = readRows(ring, note, batch, few)
        if (!ring.still(batch)) {
          few = Math.max(1, few >> 1) // quicker the next time
          continue
        }
        const { batch: number, epoch, step } = batch
        const told = { batch: number, epoch, step, reason: reasonOf(note) }
        return { ...told, rows: read.map(row => rowOf(row, note)) }
      }
    }
    return {
      ...NOTHING,
      reason: 'no batch was ready for long enough: the trainer takes each as soon as it is made',
    }
  } finally {
    ring.close()
  }
}

function reasonOf({ layout }: RingNote): string | null {
  const pictures = layout.fields.some(({ device }) => device?.kind === 'picture')
  if (pictures)
    return 'the GPU decodes and transforms the pictures: here they are as they were read, before that'
  if (layout.fields.every(({ device }) => device?.kind === 'generated'))
    return 'the GPU makes these batches out of nothing: there is nothing to be seen of them here'
  return null
}

/** A row as it was read: its name, and of each field its length along the varying axis and its bytes. */
interface RawRow {
  id: string
  fields: { length: number; bytes: Buffer }[]
}

/** What is read counts only if the slot still has the batch afterwards. */
function readRows(ring: RingBytes, { definition }: RingNote, batch: ReadyBatch, most: number): RawRow[] {
  const { layout } = ring
  const { slot, rows } = batch
  const few = Math.floor(MOST_BYTES / Math.max(1, layout.bytes / layout.rows))
  const count = Math.min(rows, most, Math.max(1, few))
  const status = ring.column(slot, layout.statusAt, rows)
  const numbers = ring.column(slot, layout.rowAt, 8 * count)
  const sources = ring.column(slot, layout.sourceAt, 4 * count)
  return Array.from({ length: count }, (_, row) => {
    const source = sources.readInt32LE(4 * row)
    const id = `${source > 0 ? `source ${source}, ` : ''}row ${numbers.readDoubleLE(8 * row)}`
    return {
      id: status[row] === RowStatus.Filler ? `${id} (filler)` : id,
      fields: layout.fields.map((place, i) => {
        const [first, length] = extent(ring, batch, i, row)
        const field = definition?.fields[place.name]
        const whole = place.device !== undefined || isImage(place, field) || field?.as === 'mask'
        const bytes = Math.min(whole ? MOST_ROW : MOST_VALUE, length * place.unitBytes)
        return { length, bytes: ring.field(slot, place, first * place.unitBytes, bytes) }
      }),
    }
  })
}

/** Where a row begins and how long it is, in units of the field. */
function extent(
  ring: RingBytes,
  { slot, header }: ReadyBatch,
  index: number,
  row: number,
): [first: number, length: number] {
  const place = ring.layout.fields[index]
  if (place.form === 'dense') return [row, 1]
  if (place.form === 'padded') {
    const stride = header.readInt32LE(4 * (Header.Cursor + index))
    const length = ring.column(slot, place.lengthAt + 4 * row, 4).readInt32LE()
    return [row * stride, Math.max(0, Math.min(stride, length))]
  }
  const offsets = ring.column(slot, place.offsetsAt + 4 * row, 8)
  const [from, to] = [offsets.readInt32LE(0), offsets.readInt32LE(4)]
  return [from, Math.max(0, to - from)]
}

function rowOf({ id, fields }: RawRow, { layout, definition }: RingNote): Row {
  const small = new Map<string, Rgb>()
  const pictures: Record<string, string> = {}
  const values: Record<string, string> = {}
  for (const [i, place] of layout.fields.entries()) {
    const { name, device } = place
    const field = definition?.fields[name]
    const { length, bytes } = fields[i]
    if (device?.kind === 'picture') {
      const url = compressedPicture(bytes, device.words)
      if (url !== undefined) pictures[name] = url
    } else if (device !== undefined) values[name] = 'made on the GPU'
    else if (isImage(place, field)) small.set(name, imageOf(bytes, place, field && normalizeOf(field)))
    else if (field?.as === 'mask') small.set(name, maskOf(bytes, place))
    else if (place.form === 'text') values[name] = textIn(bytes, length)
    else {
      const numbers = numbersIn(new Elements(bytes, place.dtype))
      const image = field?.as === 'boxes' ? layout.fields.find(one => one.name === field.follow) : undefined
      const picture = image && small.get(image.name) // fields that follow stand behind it
      if (image && picture) drawBoxes(picture, split(numbers, elements(place.shape)), widthOf(image))
      values[name] = inWords(numbers, { place, length, classes: field?.classes, as: field?.as })
    }
  }
  for (const [name, picture] of small) pictures[name] = dataUrl(picture)
  return { id, pictures, values }
}

function split(numbers: readonly number[], each: number): number[][] {
  return Array.from({ length: Math.floor(numbers.length / each) }, (_, i) =>
    numbers.slice(i * each, (i + 1) * each),
  )
}

/** Of an engine whose definition is too long to be told, pictures are known by their layout. */
function isImage(place: FieldPlace, field: ToldField | undefined): boolean {
  return place.form === 'dense' && place.layout !== undefined && (field === undefined || field.as === 'image')
}

function widthOf({ shape, layout = 'chw' }: FieldPlace): number {
  return layout === 'chw' ? shape[2] : shape[1]
}

function normalizeOf({ apply = [] }: ToldField): Normalize | undefined {
  const found = apply.find(op => 'normalize' in op)?.normalize as Partial<Normalize> | undefined
  const list = (value: unknown): number[] => (Array.isArray(value) ? value : [value]).map(Number)
  return found && { mean: list(found.mean ?? 0), std: list(found.std ?? 1) }
}

/** Numbers of a list that are shown, and characters of a text. */
const SHOWN = 8
const SHOWN_TEXT = 300
/** Parts of a mixed label below this are left out. */
const LEAST_PART = 0.01

interface About {
  place: Pick<FieldPlace, 'form' | 'shape' | 'dtype'>
  /** Along the varying axis. */
  length: number
  as?: string
  classes?: readonly string[]
}

function numbersIn(elements: Elements): number[] {
  return Array.from({ length: elements.length }, (_, i) => elements.at(i))
}

function textIn(bytes: Uint8Array, length: number): string {
  const text = Buffer.from(bytes).toString('utf8')
  const shown = text.slice(0, SHOWN_TEXT)
  return shown.length < text.length || bytes.length < length ? `${shown}…` : shown
}

function inWords(numbers: readonly number[], { place, length, classes, as }: About): string {
  const { form, shape, dtype } = place
  const isScalar = form === 'dense' && shape.length === 0
  if (isScalar) return dtype === 'bool' ? String(numbers[0] !== 0) : named(numbers[0], classes)
  // mixup and cutmix make a label into shares of all classes.
  if (form === 'dense' && shape.length === 1 && as !== 'npy' && numbers.length === shape[0])
    return mixed(numbers, classes)
  const counts = form === 'dense' ? shape : [length, ...shape]
  const shown = numbers.slice(0, SHOWN).map(short).join(', ')
  const total = counts.reduce((product, n) => product * n, 1)
  return `[${counts.join(' × ')}] ${shown}${total > SHOWN ? ', …' : ''}`
}

function mixed(numbers: readonly number[], classes: readonly string[] | undefined): string {
  const parts = numbers.map((share, i) => [share, i] as const).filter(([share]) => share >= LEAST_PART)
  parts.sort(([a], [b]) => b - a)
  return parts
    .slice(0, 3)
    .map(([share, i]) => `${named(i, classes)} ${Math.round(100 * share)} %`)
    .join(', ')
}

function named(number: number, classes: readonly string[] | undefined): string {
  const name = classes?.[number]
  return name === undefined ? short(number) : `${name} (${number})`
}

function short(number: number): string {
  return Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(4)))
}
