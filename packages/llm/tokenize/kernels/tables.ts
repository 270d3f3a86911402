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
