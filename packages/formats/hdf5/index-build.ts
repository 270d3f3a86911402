/** Makes the index of an HDF5 file: goes through its groups, and writes down where the data of each dataset lie. */
import { MillraceError } from '../../core/basics/errors.js'
import type { DataFile } from '../../core/source/find/data-files.js'
import { NumberBuilder, TextBuilder } from '../../core/source/index/columns.js'
import type { IndexHeader } from '../../core/source/index/file.js'
import {
  type BuiltIndex,
  type FileIndexKind,
  type IndexTools,
  wrongLength,
} from '../../core/source/index/of-file.js'
import { readChunks } from './chunks/arrays.js'
import { ChunkGrid, chunkCount } from './chunks/grid.js'
import { LIES } from './dataset.js'
import { refusedFilters } from './filters.js'
import type { Kind } from './index-tables.js'
import { IndexValues, readVarying } from './index-values.js'
import { attributesOf, textOf } from './structure/attribute.js'
import { Hdf5Bytes, NOWHERE } from './structure/bytes.js'
import { type ElementType, elementBytes, readDatatype } from './structure/datatype.js'
import { GlobalHeaps } from './structure/global-heap.js'
import {
  type DataLayout,
  type Dataspace,
  type Filter,
  readDataspace,
  readFill,
  readLayout,
  readOldFill,
  readPipeline,
} from './structure/messages.js'
import { MESSAGE, type Message } from './structure/object-header.js'
import { messageOf } from './structure/shared.js'
import { readSuperblock } from './structure/superblock.js'
import { walkFile } from './structure/walk.js'

export const HDF5_INDEX: FileIndexKind<DataFile> = { kind: 'hdf5', what: 'file', malformed, build }

/** Places of a file, spread evenly over its chunks, whose contents tell a copy from another file. */
const PROBED = 32

function malformed(header: IndexHeader): string | undefined {
  const { count, columns, meta } = header
  if (!Array.isArray(meta.kinds)) return 'it is malformed: what it tells of its types'
  const chunks = columns.chunkOffset?.length
  const own = ['path', 'refused', 'axes', 'note', 'scale', 'kind', 'lies', 'offset', 'firstChunk']
  return wrongLength(header, [
    ...own.map(name => [name, count] as const),
    ['dimStart', count + 1],
    ['firstValue', count],
    ['values', columns.values?.length],
    ['chunkDims', columns.dims?.length],
    ['chunkBytes', chunks],
    ['chunkMask', chunks],
    ['probes', columns.probes?.length],
  ])
}

async function build(data: DataFile, tools: IndexTools): Promise<BuiltIndex> {
  const file = new Hdf5Bytes(data.file, data.bytes, tools.read, tools.local ? 0 : tools.piece)
  const builder = new IndexBuilder(file)
  const root = await readSuperblock(file)
  await walkFile(file, root, builder)
  return builder.finish()
}

/**
 * Chunks, and values of varying length, that the datasets of a file may have in all: as many as its bytes can tell of, and
 * some that were never written. Each takes memory, and room in the index.
 */
const MOST_UNWRITTEN = 2 ** 20
/** Bytes that a written one takes in any table of the file at least. */
const LEAST_ENTRY = 8
const MOST_ENTRIES = 2 ** 27

/** Attributes that are looked at. */
const ATTRIBUTES = ['CLASS', 'DIMENSION_LIST', '_FillValue', 'scale_factor', 'add_offset']

class IndexBuilder {
  private readonly kinds: Kind[] = []
  private readonly kindNumbers = new Map<string, number>()
  private readonly heaps: GlobalHeaps
  private readonly values: IndexValues
  private readonly texts = { path: new TextBuilder(), refused: new TextBuilder(), note: new TextBuilder() }
  private readonly numbers = {
    scale: new NumberBuilder(),
    kind: new NumberBuilder(),
    dimStart: new NumberBuilder(),
    dims: new NumberBuilder(),
    chunkDims: new NumberBuilder(),
    lies: new NumberBuilder(),
    offset: new NumberBuilder(),
    firstChunk: new NumberBuilder(),
    chunkOffset: new NumberBuilder(),
    chunkBytes: new NumberBuilder(),
    chunkMask: new NumberBuilder(),
  }
  /** Addresses of the scales of each dataset's axes, and the name of each scale. */
  private readonly axes: number[][] = []
  private readonly scaleNames = new Map<number, string>()
  /** Chunks and values that the tables still have room for. */
  private room: number

  constructor(private readonly file: Hdf5Bytes) {
    this.room = Math.min(MOST_ENTRIES, MOST_UNWRITTEN + Math.ceil(file.size / LEAST_ENTRY))
    this.heaps = new GlobalHeaps(file)
    this.values = new IndexValues(file)
    this.numbers.dimStart.push(0)
  }

  refused(path: string, why: string): void {
    this.push(
      path,
      why,
      { type: { is: 'refused', bytes: 1, why, dims: [] }, filters: [] },
      [],
      [],
      LIES.nowhere,
      0,
    )
    this.values.none()
  }

  async dataset(path: string, address: number, messages: readonly Message[]): Promise<void> {
    const { file } = this
    const space = readDataspace((await messageOf(messages, MESSAGE.dataspace))!)
    const typeAt = await messageOf(messages, MESSAGE.datatype)
    if (typeAt === undefined) throw file.fault(`dataset "${path}" has no type`, address)
    const type = readDatatype(typeAt)
    const layout = readLayout((await messageOf(messages, MESSAGE.layout))!)
    const pipeline = await messageOf(messages, MESSAGE.pipeline)
    const filters = pipeline === undefined ? [] : readPipeline(pipeline)
    const kind: Kind = { type, filters, fill: await this.fillOf(messages, elementBytes(type)) }
    const why = refusal(type, layout, filters, space, messages) ?? this.tooMany(type, layout, space)
    const { scale, axes, note } = await this.attributes(path, address, messages)
    const dims = space.none ? [0] : space.dims
    if (why !== undefined) this.push(path, why, kind, dims, [], LIES.nowhere, 0, scale, note)
    else if (layout.is === 'chunked') await this.chunked(path, address, kind, space, layout, scale, note)
    else if (layout.is === 'contiguous') await this.together(path, address, kind, dims, layout, scale, note)
    this.axes[this.texts.path.length - 1] = axes
    if (this.values.firstValue.length < this.texts.path.length) this.values.none()
  }

  finish(): BuiltIndex {
    const axes = new TextBuilder()
    for (let i = 0; i < this.texts.path.length; i++)
      axes.push((this.axes[i] ?? []).map(address => this.scaleNames.get(address) ?? '?').join(','))
    const { chunkOffset, offset } = this.numbers
    const probes: number[] = [0]
    for (const places of [chunkOffset, offset]) {
      const step = Math.max(1, Math.floor(places.length / PROBED))
      for (let i = 0; i < places.length; i += step) if (places.at(i) > 0) probes.push(places.at(i))
    }
    const count = this.texts.path.length
    return {
      count,
      meta: { kinds: this.kinds },
      columns: {
        ...this.texts,
        axes,
        ...this.numbers,
        firstValue: this.values.firstValue,
        values: this.values.values,
      },
      probes,
    }
  }

  /** Takes the room that the chunks or values of a dataset need; why it can't be read where there is none. */
  private tooMany(type: ElementType, layout: DataLayout, { dims }: Dataspace): string | undefined {
    const chunks = layout.is === 'chunked' ? chunkCount(dims, layout.chunk) : 0
    const values = type.is === 'varying' ? dims.reduce((product, n) => product * n, 1) : 0
    const entries = Math.max(chunks, values)
    // A chunk of references to values is unpacked as a whole, also where it has few of them.
    const atOnce = values > 0 && layout.is === 'chunked' ? layout.chunk[0] : 0
    if (entries <= this.room && atOnce <= this.room) {
      this.room -= entries
      return undefined
    }
    const what = values > 0 ? 'values of varying length' : 'chunks'
    return `with the shape [${dims}] it has more ${what} than can be in the file: write it with the shape of what is there`
  }

  /** Data in one piece, also in the header of the dataset itself. */
  private async together(
    path: string,
    address: number,
    kind: Kind,
    dims: readonly number[],
    { address: at, bytes: said }: { address: number; bytes: number },
    scale: boolean,
    note: string,
  ): Promise<void> {
    const bytes = dims.reduce((product, n) => product * n, elementBytes(kind.type))
    if (bytes > said && at !== NOWHERE)
      throw this.file.fault(`dataset "${path}" of shape [${dims}] has ${said} bytes`, address)
    const written = at !== NOWHERE && bytes > 0
    const offset = written ? this.file.offsetOf(at, bytes) : 0
    if (kind.type.is !== 'varying') {
      if (written) await this.values.together(kind, dims, at)
      this.push(path, '', kind, dims, [], written ? LIES.together : LIES.nowhere, offset, scale, note)
      return
    }
    this.push(path, '', kind, dims, [], LIES.heap, 0, scale, note)
    await readVarying(
      this.file,
      this.heaps,
      kind.type,
      { dims, offset: at, written, fill: kind.fill },
      undefined,
      kind.filters,
      this.numbers,
    )
  }

  private async chunked(
    path: string,
    address: number,
    kind: Kind,
    { dims, most }: Dataspace,
    layout: DataLayout & { is: 'chunked' },
    scale: boolean,
    note: string,
  ): Promise<void> {
    const { file } = this
    const { chunk } = layout
    const element = elementBytes(kind.type)
    if (chunk.length !== dims.length || layout.elementBytes !== element)
      throw file.fault(`dataset "${path}" of shape [${dims}] has chunks of [${chunk}]`, address)
    const chunkBytes = chunk.reduce((product, n) => product * n, element)
    const grid = new ChunkGrid(file, address, dims, most, chunk, chunkBytes, kind.filters.length > 0)
    await readChunks(grid, layout)
    if (layout.edges) leaveEdges(grid)
    if (kind.type.is === 'varying') {
      this.push(path, '', kind, dims, [], LIES.heap, 0, scale, note)
      await readVarying(
        file,
        this.heaps,
        kind.type,
        { dims, offset: 0, written: true, fill: kind.fill },
        grid,
        kind.filters,
        this.numbers,
      )
      return
    }
    this.push(path, '', kind, dims, chunk, LIES.chunked, 0, scale, note)
    await this.values.chunked(kind, grid)
    const { chunkOffset, chunkBytes: sizes, chunkMask } = this.numbers
    for (let i = 0; i < grid.count; i++) {
      chunkOffset.push(grid.offsets[i])
      sizes.push(grid.bytes[i])
      chunkMask.push(grid.masks[i])
    }
  }

  private push(
    path: string,
    why: string,
    kind: Kind,
    dims: readonly number[],
    chunk: readonly number[],
    lies: number,
    offset: number,
    scale = false,
    note = '',
  ): void {
    const { numbers, texts } = this
    texts.path.push(path)
    texts.refused.push(why)
    texts.note.push(note)
    numbers.scale.push(scale ? 1 : 0)
    numbers.kind.push(this.kindNumber(kind))
    dims.forEach((n, i) => {
      numbers.dims.push(n)
      numbers.chunkDims.push(chunk[i] ?? 0)
    })
    numbers.dimStart.push(numbers.dims.length)
    numbers.lies.push(lies)
    numbers.offset.push(offset)
    numbers.firstChunk.push(numbers.chunkOffset.length)
  }

  private kindNumber(kind: Kind): number {
    const text = JSON.stringify(kind)
    let number = this.kindNumbers.get(text)
    if (number === undefined) {
      number = this.kinds.push(kind) - 1
      this.kindNumbers.set(text, number)
    }
    return number
  }

  private async fillOf(messages: readonly Message[], bytes: number): Promise<string | undefined> {
    const [fill, old] = [await messageOf(messages, MESSAGE.fill), await messageOf(messages, MESSAGE.oldFill)]
    const found = (fill && readFill(fill)) ?? (old && readOldFill(old))
    if (found === undefined || found.length !== bytes || found.every(byte => byte === 0)) return undefined
    return found.toString('base64')
  }

  /** What attributes say. They are no data: where they can't be read, the dataset is read all the same. */
  private async attributes(
    path: string,
    address: number,
    messages: readonly Message[],
  ): Promise<{ scale: boolean; axes: number[]; note: string }> {
    try {
      const found = await attributesOf(this.file, messages, ATTRIBUTES)
      const scale = textOf(found.get('CLASS')) === 'DIMENSION_SCALE'
      if (scale) this.scaleNames.set(address, path.slice(path.lastIndexOf('/') + 1))
      const said = ['_FillValue', 'scale_factor', 'add_offset'].filter(name => found.has(name))
      const note = said.length === 0 ? '' : `${said.join(', ')} not applied`
      return { scale, axes: await this.axesOf(found.get('DIMENSION_LIST')?.data), note }
    } catch (error) {
      if (error instanceof MillraceError) return { scale: false, axes: [], note: '' }
      throw error
    }
  }

  /** The addresses of the scales of the axes: a list of references for each. */
  private async axesOf(
    data: { left: number; u32(): number; where(): number } | undefined,
  ): Promise<number[]> {
    const axes: number[] = []
    while (data !== undefined && data.left >= 8 + this.file.offsetSize) {
      const [count, collection, index] = [data.u32(), data.where(), data.u32()]
      if (count === 0 || collection === NOWHERE || collection === 0) {
        axes.push(NOWHERE)
        continue
      }
      const { offset } = await this.heaps.object(collection, index)
      axes.push((await this.file.cursor(offset - this.file.base, this.file.offsetSize)).where())
    }
    return axes
  }
}

/** Why a dataset can't be read; undefined where it can. */
function refusal(
  type: ElementType,
  layout: DataLayout,
  filters: readonly Filter[],
  { dims }: Dataspace,
  messages: readonly Message[],
): string | undefined {
  if (type.is === 'refused') return type.why
  if (layout.is === 'refused') return layout.why
  if (messages.some(message => message.type === MESSAGE.external))
    return 'its data lie in external files: write it into one file (`h5repack`)'
  if (type.is === 'varying' && (dims.length > 1 || type.dims.length > 0))
    return 'it has several values of varying length a row: store one a row'
  return refusedFilters(filters)
}

/** Chunks that reach over the end of the dataset went through no filter. */
function leaveEdges(grid: ChunkGrid): void {
  const place = grid.sides.map(() => 0)
  for (let i = 0; i < grid.count; i++) {
    if (place.some((n, axis) => (n + 1) * grid.chunk[axis] > grid.dims[axis])) grid.masks[i] = 0xffffffff
    for (let axis = place.length - 1; axis >= 0; axis--) {
      if (++place[axis] < grid.sides[axis]) break
      place[axis] = 0
    }
  }
}
