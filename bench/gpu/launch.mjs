// Kernel launches as bytes, for programs that carry them out elsewhere: check_kernels.py on a GPU, and, in the tests,
// the same kernels compiled for the CPU. Little-endian; a launch is
//
//   u32 kernel, u32 blocks, u32 threads, u32 number of arguments; then each argument:
//   u32 kind, u32 0, u64 value: a number, or a size in bytes; then, of `input` and `list`, what it holds
//
// What an argument holds is padded to a multiple of 8 bytes.

export const KERNELS = { picture: 0, mix: 1, synthetic: 2, philox: 3, draw: 4 }
const KINDS = { number: 0, input: 1, output: 2, room: 3, list: 4 }

/** A number: as i32 or u64, whatever the kernel takes. */
export const number = value => head(KINDS.number, value)
/** The address of bytes that the kernel reads. */
export const input = bytes => Buffer.concat([head(KINDS.input, bytes.byteLength), padded(bytes)])
/** The address of bytes that it writes, which are the launch's result. */
export const output = size => head(KINDS.output, size)
/** The address of memory for each block to use, `size` bytes a block. */
export const room = size => head(KINDS.room, size)
/** The address of a list of addresses; of nothing, where there are no bytes. */
export const list = items =>
  Buffer.concat([head(KINDS.list, items.length), ...items.map(bytes => input(bytes ?? Buffer.alloc(0)))])

export function launch(kernel, blocks, threads, args) {
  const words = Uint32Array.of(KERNELS[kernel], blocks, threads, args.length)
  return Buffer.concat([Buffer.from(words.buffer), ...args])
}

/** Arguments of `picture`: parameter rows of equal length, their decoded pictures, and the form of the finished rows. */
export function pictureArguments(rows, pictures, { dtype, layout, width, height, lookup, bytes }) {
  const most = word => Math.ceil(Math.max(...rows.map(row => row[word])) / 256) * 256
  const [pictureBytes, tableBytes] = [most(6), most(10)]
  return [
    input(Buffer.concat(rows.map(row => Buffer.from(row.buffer, row.byteOffset, row.byteLength)))),
    ...[number(rows[0].length), number(rows.length), list(pictures)],
    ...[room(2 * pictureBytes + tableBytes), number(pictureBytes), number(tableBytes)],
    ...[output(rows.length * 3 * width * height * bytes), input(lookup), number(DTYPE_CODES[dtype])],
    ...[number(layout === 'hwc' ? 1 : 0), number(width), number(height)],
  ]
}

/** The kernels' numbers of dtypes. */
export const DTYPE_CODES = {
  ...{ u8: 0, i8: 1, u16: 2, i16: 3, i32: 4, u32: 5, i64: 6 },
  ...{ f16: 7, bf16: 8, f32: 9, f64: 10, bool: 0 },
}

function head(kind, value) {
  const bytes = Buffer.alloc(16)
  bytes.writeUInt32LE(kind, 0)
  bytes.writeBigUInt64LE(BigInt(value), 8)
  return bytes
}

function padded(bytes) {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Buffer.concat([view, Buffer.alloc((8 - (view.length % 8)) % 8)])
}
