/** The kernel of the tokenizer, in WebAssembly, with a memory of its own. */
import { readFileSync } from 'node:fs'

const PAGE = 64 << 10
/** What WebAssembly can address. */
const MOST_PAGES = 65536
/** Slots of the tables of words that were met before: 2 MB and 1 MB, which stay in a processor's cache. */
const SMALL = { slots: 1 << 16, bytes: 32 }
const LARGE = { slots: 1 << 14, bytes: 64 }
const WORDS = SMALL.slots * SMALL.bytes + LARGE.slots * LARGE.bytes

/** Addresses are bytes. What each does is told in assembly/bpe.ts. */
interface Code {
  useClasses(places: number, blocks: number): void
  useMerges(
    bytes: number,
    firstPairs: number,
    pairs: number,
    mask: number,
    made: number,
    scratch: number,
  ): void
  useWhole(whole: number, mask: number, starts: number, spelled: number): void
  useWords(small: number, smallMask: number, large: number, largeMask: number): void
  addPair(left: number, right: number, rank: number): void
  addPoint(point: number, symbol: number): void
  addWhole(id: number): void
  fillFirstPairs(): void
  encode(pattern: number, from: number, length: number, to: number, whole: number): number
  borders(pattern: number, from: number, length: number, to: number): number
  consumed(): number
  queueBytes(ranks: number): number
  useQueue(at: number, ranks: number): void
}

export interface Kernel {
  code: Code
  /** All of its memory. It is another object after `grow`. */
  bytes(): Uint8Array
  /** Makes the memory at least so many bytes long. */
  grow(bytes: number): void
  /** Tells the kernel where its tables are, and where it may work: behind them. */
  use(tables: Tables, scratch: number): void
}

let module: WebAssembly.Module | undefined

export function newKernel(bytes: number): Kernel {
  module ??= new WebAssembly.Module(readFileSync(new URL('./bpe.wasm', import.meta.url)))
  const memory = new WebAssembly.Memory({ initial: pagesOf(bytes), maximum: MOST_PAGES, shared: true })
  const code = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as Code
  return {
    code,
    bytes: () => new Uint8Array(memory.buffer),
    grow: bytes => {
      const missing = pagesOf(bytes) - memory.buffer.byteLength / PAGE
      if (missing > 0) memory.grow(missing)
    },
    use: (tables, scratch) => {
      const { places, blocks, bytes, firstPairs, pairs, pairsMask, made } = tables
      code.useClasses(places, blocks)
      code.useMerges(bytes, firstPairs, pairs, pairsMask, made, scratch)
      code.useWhole(tables.whole, tables.wholeMask, tables.starts, tables.spelled)
    },
  }
}

/** Puts the tables of words at `at`; gives the place behind them. They must be zeros. */
export function useWordTables({ code }: Kernel, at: number): number {
  const large = at + SMALL.slots * SMALL.bytes
  code.useWords(at, SMALL.slots - 1, large, LARGE.slots - 1)
  return at + WORDS
}

function pagesOf(bytes: number): number {
  return Math.ceil(bytes / PAGE)
}

export interface Tables {
  /** Classes of characters: places of blocks, and blocks. */
  places: number
  blocks: number
  bytes: number
  /** 0: words are made of characters. */
  firstPairs: number
  pairs: number
  pairsMask: number
  made: number
  /** 0: words are always merged. */
  whole: number
  wholeMask: number
  /** By token: where its bytes begin, and those bytes. */
  starts: number
  spelled: number
  end: number
}
