/** A heap: items with the time at which each is due, the soonest on top. */
export class Heap<T> {
  private readonly keys: number[] = []
  private readonly items: T[] = []

  get size(): number {
    return this.keys.length
  }

  /** When the soonest is due; Infinity: there is none. */
  get due(): number {
    return this.keys.length === 0 ? Infinity : this.keys[0]
  }

  push(key: number, item: T): void {
    const { keys, items } = this
    let at = keys.length
    keys.push(key)
    items.push(item)
    while (at > 0) {
      const above = (at - 1) >> 1
      if (keys[above] <= key) break
      keys[at] = keys[above]
      items[at] = items[above]
      at = above
    }
    keys[at] = key
    items[at] = item
  }

  /** Takes the soonest. There must be one. */
  pop(): T {
    const { keys, items } = this
    const top = items[0]
    const key = keys.pop()!
    const item = items.pop()!
    const size = keys.length
    if (size === 0) return top
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= size) break
      if (below + 1 < size && keys[below + 1] < keys[below]) below++
      if (keys[below] >= key) break
      keys[at] = keys[below]
      items[at] = items[below]
      at = below
    }
    keys[at] = key
    items[at] = item
    return top
  }
}
