/** The columns of an index of borders, while it is made. */
import { NumberBuilder } from '../../../../core/source/index/columns.js'

/** Takes the documents that a scan finds, in their order. */
export class BordersBuilder {
  readonly ends = new NumberBuilder()
  private starts: NumberBuilder | undefined
  private last = 0

  add(start: number, end: number): void {
    if (start !== this.last && this.starts === undefined) {
      this.starts = new NumberBuilder()
      for (let i = 0; i < this.ends.length; i++) this.starts.push(i === 0 ? 0 : this.ends.at(i - 1))
    }
    this.starts?.push(start)
    this.ends.push(end)
    this.last = end
  }

  columns(): Record<string, NumberBuilder> {
    return { end: this.ends, ...(this.starts && { start: this.starts }) }
  }
}
