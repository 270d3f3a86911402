/**
 * A value of one column of one sample, as a source gives it. What it becomes in the batch is the field's affair: values are
 * decoded and converted once, while the row is written.
 */
import type { Tile as AnyTile, TiledArray } from '../basics/array.js'
import type { ByteRange } from '../store/store.js'

/** Bytes still to be decoded, a small value from the index, or an array with a type and shape of its own. */
export type Column = Uint8Array | number | bigint | string | ArrayColumn

/** The columns of a sample, by name. */
export type Columns = Record<string, Column>

/** An array: `dtype` (u64 too, which only exists in stores), `shape`, and tiles that together hold each element once. */
export type ArrayColumn = TiledArray<Uint8Array | ByteRange>

/**
 * A box of an array's elements, with strides and an order of bytes of its own. Data that is a range is not read yet: if its
 * bytes need no conversion, they are read straight into the slot.
 */
export type Tile = AnyTile<Uint8Array | ByteRange>
