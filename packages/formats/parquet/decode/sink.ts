/** Where the values of a chunk go: the column in the cache. One kind for values of equal width, one for texts. */
export interface ValueSink {
  /** The dictionary of the chunk, PLAIN. */
  setDictionary(content: Uint8Array, count: number): void
  /** Where a page of this encoding may be decompressed to, so that nothing is copied; undefined: elsewhere. */
  target(encoding: number, to: number): Uint8Array | undefined
  /** Decodes `n` values from byte `at` of a page on, as items from `to` on. */
  put(encoding: number, content: Uint8Array, at: number, n: number, to: number): void
  /** All is written: notes what is known of it in the column's header. */
  finish(): void
  /** Moves the `n` items that were put last apart, so that they are `count`: those whose level is not `most` are null. */
  spread(to: number, count: number, n: number, levels: Uint8Array, most: number): void
}
