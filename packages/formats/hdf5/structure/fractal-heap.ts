/**
 * The heap of a group with many members: links and attributes lie in blocks whose sizes double from row to row of a table.
 * An id says where an object begins in the heap's own space, and how long it is.
 */

import { numberBytes } from './btree2.js'
import { type Cursor, type Hdf5Bytes, NOWHERE } from './bytes.js'

/** A block of objects: where it begins in the heap's space, and in the file. */
interface Block {
  from: number
  bytes: number
  address: number
}

const MOST_BLOCKS = 1 << 20

export class FractalHeap {
  private constructor(
    private readonly file: Hdf5Bytes,
    private readonly idBytes: { offset: number; length: number },
    /** In the order of the heap's space. */
    private readonly blocks: readonly Block[],
  ) {}

  static async open(file: Hdf5Bytes, address: number): Promise<FractalHeap> {
    const { offsetSize: o, lengthSize: l } = file
    const plain = 26 + 3 * o + 12 * l - 4
    const header = await file.cursor(address, 5 + 2 + 2)
    header.signature('FRHP', 'heap')
    header.skip(1 + 2)
    if (header.u16() !== 0)
      throw header.fault('a heap of links is compressed: write the file again without filters for groups')
    const body = await file.checked(address, plain + 4, 'heap')
    body.skip(4 + 1 + 2 + 2 + 1)
    const mostManaged = body.u32()
    body.skip(l + o + l + o + 8 * l)
    const width = body.u16()
    const [first, mostDirect] = [body.length(), body.length()]
    const bits = body.u16()
    body.skip(2)
    const root = body.where()
    const rows = body.u16()
    if (width < 1 || first < 1 || mostDirect < first || bits > 64 || rows > 64)
      throw body.fault('a heap has a table of blocks that can not be')
    const shape = { width, first, mostDirect, offsetBytes: Math.ceil(bits / 8) }
    const blocks: Block[] = []
    if (root !== NOWHERE && rows === 0) blocks.push({ from: 0, bytes: first, address: root })
    else if (root !== NOWHERE) await readIndirect(file, root, rows, 0, shape, blocks)
    blocks.sort((a, b) => a.from - b.from)
    const length = Math.min(Math.ceil(Math.log2(mostDirect) / 8), numberBytes(mostManaged))
    return new FractalHeap(file, { offset: shape.offsetBytes, length }, blocks)
  }

  /** The object of an id. */
  async object(id: Cursor): Promise<Cursor> {
    const kind = (id.u8() >> 4) & 3
    if (kind === 2) throw id.fault('a heap keeps an object in its id')
    if (kind !== 0) throw id.fault('a link or an attribute is too large for its heap')
    const offset = id.uint(this.idBytes.offset)
    const length = id.uint(this.idBytes.length)
    let [low, high] = [0, this.blocks.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.blocks[middle].from <= offset) low = middle
      else high = middle - 1
    }
    const block = this.blocks[low]
    if (block === undefined || offset < block.from || offset + length > block.from + block.bytes)
      throw id.fault('an id leads out of its heap')
    return this.file.cursor(block.address + offset - block.from, length)
  }
}

interface Shape {
  width: number
  first: number
  mostDirect: number
  offsetBytes: number
}

/** Bytes of the blocks of a row: the first two rows have the smallest. */
const rowBytes = (row: number, { first }: Shape): number => first * 2 ** Math.max(0, row - 1)

async function readIndirect(
  file: Hdf5Bytes,
  address: number,
  rows: number,
  from: number,
  shape: Shape,
  blocks: Block[],
  depth = 0,
): Promise<void> {
  if (depth > 16) throw file.fault('a heap is nested too deeply', address)
  const head = 5 + file.offsetSize + shape.offsetBytes
  const block = await file.checked(address, head + rows * shape.width * file.offsetSize + 4, 'heap')
  block.signature('FHIB', 'heap')
  block.skip(head - 4)
  let at = from
  for (let row = 0; row < rows; row++) {
    const bytes = rowBytes(row, shape)
    for (let i = 0; i < shape.width; i++, at += bytes) {
      const child = block.where()
      if (child === NOWHERE) continue
      if (bytes <= shape.mostDirect) blocks.push({ from: at, bytes, address: child })
      else {
        const below = Math.log2(bytes) - Math.log2(shape.first * shape.width) + 1
        await readIndirect(file, child, below, at, shape, blocks, depth + 1)
      }
      if (blocks.length > MOST_BLOCKS) throw file.fault('a heap has more blocks than can be', address)
    }
  }
}
