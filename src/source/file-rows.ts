/** Which of several files holds a row: the rows of the first file come first, then those of the second, and so on. */

export class FileRows {
  readonly count: number
  /** First row of each file that has any. */
  readonly runs: Float64Array
  /** First row of each file, and the count at the end. */
  readonly starts: Float64Array
  /** The file that `locate` found last: the next row is mostly there too. */
  file = 0

  constructor(counts: readonly number[]) {
    this.starts = new Float64Array(counts.length + 1)
    counts.forEach((count, i) => {
      this.starts[i + 1] = this.starts[i] + count
    })
    this.count = this.starts[counts.length]
    this.runs = this.starts.filter((_, i) => counts[i] > 0)
  }

  /** Sets `file` to the file that holds a row; gives the number of the row in it. */
  locate(row: number): number {
    const { starts } = this
    if (!(row >= starts[this.file] && row < starts[this.file + 1])) {
      let low = 0
      let high = starts.length - 1
      while (high - low > 1) {
        const middle = (low + high) >>> 1
        if (starts[middle] <= row) low = middle
        else high = middle
      }
      this.file = low
    }
    return row - starts[this.file]
  }
}
