/**
 * How the device stage shares out memory and launches the kernels, in Node and in Python. Python's copy
 * (python/millrace/_generated/) is generated from this file: npm run generate.
 */

/** Everything on the device begins at a multiple of this: what cuMemAlloc gives, and enough for any load. */
export const DEVICE_ALIGN = 256

/** Bytes for decoded pictures on the device. */
export const DEVICE_BYTES = 2 ** 30

/** Batches that share these bytes: while one is decoded, another is finished. */
export const LANES = 2

/** The `picture` kernel may use this part of them besides, for pictures on their way through its ops. */
export const SCRATCH_PARTS = 4

/** Arrays are decompressed this part of a lane's bytes at a time: nvCOMP's zstd needs three times its output to work in. */
export const TURN_PARTS = 4

/**
 * Our kernels: the threads of a block, and the types of the arguments, in the order of the `.cu` file. `address` and
 * `u64` are 64 bits, `i32` is 32.
 */
export const KERNELS = {
  picture: {
    threads: 512,
    // rows, words, count, pictures, scratch, pictureBytes, tableBytes, out, lookup, then dtype, hwc, width, height
    arguments: [
      ...['address', 'i32', 'i32', 'address', 'address', 'u64', 'u64', 'address', 'address'],
      ...['i32', 'i32', 'i32', 'i32'],
    ],
  },
  mix: {
    threads: 512,
    // rows, which, count, from, to, then dtype, hwc, width, height
    arguments: ['address', 'i32', 'i32', 'address', 'address', 'i32', 'i32', 'i32', 'i32'],
  },
  synthetic: {
    threads: 512,
    // pool, starts, firsts, count, rowElements, dtype, out
    arguments: ['address', 'address', 'address', 'i32', 'u64', 'i32', 'address'],
  },
} as const

/** `synthetic` does nothing but copy: it gets so many blocks for each that the stage may have. */
export const COPY_BLOCKS = 4

/** Threads of a block of the user's own kernel: along x as many blocks as a row needs, along y as rows. */
export const GENERATE_THREADS = 256

/** Blocks along y at most: larger batches take several launches. */
export const GENERATE_ROWS = 65535

/** The one header of ours that is for kernels of the user's: their own may be named like the others. */
export const GENERATE_HEADER = 'millrace.cuh'

/** `millrace::Batch` of that header, by value: its members' byte offsets. */
export const BatchAt = { Seed: 0, Epoch: 8, Positions: 16, Rows: 24, Count: 32 } as const

/** Bytes of `millrace::Batch`: the last member is an int, and the struct is aligned to 8. */
export const BATCH_BYTES = 40
