/** What follows from a list of columns, computed once for each list: the engine asks with the very same array for every row. */
export class PerColumns<T> {
  private readonly known = new WeakMap<readonly string[], T>()

  constructor(private readonly make: (columns: readonly string[]) => T) {}

  of(columns: readonly string[]): T {
    let found = this.known.get(columns)
    if (found === undefined) {
      found = this.make(columns)
      this.known.set(columns, found)
    }
    return found
  }
}
