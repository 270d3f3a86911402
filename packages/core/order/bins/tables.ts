/**
 * Tables of bins in memory that all threads see: those of two epochs, since workers begin the next one before this one ends.
 *
 *   words   for each of both:  Epoch  whose table it is, from 1; 0 while there is none
 *                              Count  bins
 *                              Lock   1 while it is written
 *           for the next one:  Who    the worker that makes it, from 1
 *   starts  of each
 *
 * A table may be overwritten while a thread reads it: that of an epoch which another thread is done with. So a reader looks
 * at `Epoch` again after it has read. What is not found here is made by the thread that wants it: nothing is waited for, and
 * a thread that dies while it writes costs the others time, never a wrong table.
 */

const Word = { Epoch: 0, Count: 1, Lock: 2, Who: 3 } as const
const WORDS = 4

/** Plain data that can be posted. */
export interface SharedTables {
  words: Int32Array
  starts: [Int32Array, Int32Array]
}

/** A table that was found. */
export interface Found {
  count: number
  /** Where a bin begins; undefined where the table was overwritten. */
  start(bin: number): number | undefined
}

/** Room for tables of somewhat more than `bins` bins: shuffled in another way, an epoch has hardly more or less of them. */
export function sharedTables(bins: number): SharedTables {
  const room = Math.ceil(bins * 1.05) + 1024
  const int32 = (length: number): Int32Array => new Int32Array(new SharedArrayBuffer(length * 4))
  return { words: int32(2 * WORDS), starts: [int32(room), int32(room)] }
}

/** Bytes of both. */
export function tableBytes({ starts }: SharedTables): number {
  return 2 * starts[0].byteLength
}

/** The table of an epoch, if it is there. */
export function tableOf({ words, starts }: SharedTables, epoch: number): Found | undefined {
  const way = epoch & 1
  const at = way * WORDS
  if (Atomics.load(words, at + Word.Epoch) !== epoch + 1) return undefined
  const count = Atomics.load(words, at + Word.Count)
  const holds = (): boolean => Atomics.load(words, at + Word.Epoch) === epoch + 1
  if (!holds()) return undefined
  return {
    count,
    start: bin => {
      // Atomic, so that the look at the epoch comes after it.
      const start = Atomics.load(starts[way], bin)
      return holds() ? start : undefined
    },
  }
}

/** Puts the table of an epoch there. False: it has no room, or another is being written. */
export function writeTable({ words, starts }: SharedTables, epoch: number, table: Uint32Array): boolean {
  const way = epoch & 1
  const at = way * WORDS
  if (table.length > starts[way].length) return false
  if (Atomics.load(words, at + Word.Epoch) === epoch + 1) return true
  if (Atomics.compareExchange(words, at + Word.Lock, 0, 1) !== 0) return false
  Atomics.store(words, at + Word.Epoch, 0)
  // Atomic as well: none of it may be seen before the epoch is taken away.
  for (let i = 0; i < table.length; i++) Atomics.store(starts[way], i, table[i])
  Atomics.store(words, at + Word.Count, table.length - 1)
  Atomics.store(words, at + Word.Epoch, epoch + 1)
  Atomics.store(words, at + Word.Who, 0)
  Atomics.store(words, at + Word.Lock, 0)
  return true
}

/** Whether a worker is the one that makes the table of an epoch: if none does yet, it is from now on. */
export function takeUp({ words }: SharedTables, epoch: number, worker: number): boolean {
  const who = (epoch & 1) * WORDS + Word.Who
  const before = Atomics.compareExchange(words, who, 0, worker + 1)
  return before === 0 || before === worker + 1
}
