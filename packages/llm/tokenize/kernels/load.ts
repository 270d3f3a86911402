/** The kernel of the tokenizer, in WebAssembly, with a memory of its own. */
import { growMemory, kernelMemory, kernelsIn } from '../../../core/system/memory/kernels.js'

/** Slots of the tables of words that were met before: 2 MB and 1 MB, which stay in a processor's cache. */
const SMALL = { slots: 1 << 16, bytes: 32 }
const LARGE = { slots: 1 << 14, bytes: 64 }

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

const kernel = kernelsIn(new URL('./', import.meta.url))

export class Kernel {
  readonly code: Code
  private readonly memory: WebAssembly.Memory

  constructor(bytes: number) {
    this.memory = kernelMemory(bytes)
    this.code = kernel<Code>('bpe', this.memory)
  }

  /** All of its memory. It is another object after `grow`. */
  bytes(): Uint8Array {
    return new Uint8Array(this.memory.buffer)
  }

  grow(bytes: number): void {
    growMemory(this.memory, bytes)
  }

  /** Tells the kernel where its tables are, and where it may work: behind them. */
  use(tables: Tables, scratch: number): void {
    const { places, blocks, bytes, firstPairs, pairs, pairsMask, made } = tables
    this.code.useClasses(places, blocks)
    this.code.useMerges(bytes, firstPairs, pairs, pairsMask, made, scratch)
    this.code.useWhole(tables.whole, tables.wholeMask, tables.starts, tables.spelled)
  }

  /** Puts the tables of words at `at`; gives the place behind them. They must be zeros. */
  useWordTables(at: number): number {
    const large = at + SMALL.slots * SMALL.bytes
    this.code.useWords(at, SMALL.slots - 1, large, LARGE.slots - 1)
    return large + LARGE.slots * LARGE.bytes
  }
}

/** Where tables lie, from the beginning of the memory on, and how large hash tables are. In bytes; slots less one. */
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
