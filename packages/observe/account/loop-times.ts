/**
 * The steps of a loop, kept in a fixed piece of memory however long it runs: sums over blocks of steps, and a histogram of
 * the waits. Booking a step is some additions.
 */
import type { StepMark } from '../../core/deliver/observer.js'
import type { StepTimes } from '../evidence.js'

/** Blocks at most: when they are full, each two become one, and blocks hold twice as many steps. */
const BLOCKS = 64

/** Widths of the histogram grow by this factor: so their middles are less than 2 % away from what is in them. */
const FACTOR = 1.03
/** The first width ends here (ms); the last one holds all that is longer than a day. */
const LEAST = 0.001
const WIDTHS = 1 + Math.ceil(Math.log(86_400_000 / LEAST) / Math.log(FACTOR))

export class LoopTimes {
  private first: StepTimes | undefined
  /** Of all that begin an epoch. */
  private starts: StepTimes | undefined
  private blocks: StepTimes[] = []
  private perBlock = 1
  private readonly widths = new Float64Array(WIDTHS)
  private longest = 0

  /** Books a step that is over. Its times are those of one step. */
  add(step: Readonly<StepTimes>, mark: StepMark): void {
    if (mark === 'first') {
      this.first = { ...step, first: true }
      return
    }
    const waited = step.supply + step.handOver
    this.widths[widthOf(waited)]++
    this.longest = Math.max(this.longest, waited)
    if (mark === 'epochStart') {
      if (this.starts === undefined) this.starts = { ...step, epochStart: true }
      else join(this.starts, step)
      return
    }
    const last = this.blocks.at(-1)
    if (last !== undefined && last.count < this.perBlock) {
      join(last, step)
      return
    }
    if (this.blocks.length === BLOCKS) this.halve()
    this.blocks.push({ ...step })
  }

  /** Books garbage collection within the waits of steps that were booked lately. */
  addGc(ms: number): void {
    const step = this.blocks.at(-1) ?? this.starts
    if (step !== undefined) step.gc = (step.gc ?? 0) + ms
  }

  /** What was booked, for accounting. */
  get steps(): StepTimes[] {
    const { first, starts, blocks } = this
    return [first, starts, ...blocks].flatMap(step => (step === undefined ? [] : { ...step }))
  }

  /** Waits and how many steps waited about so long; the longest is exact. */
  get waits(): [ms: number, steps: number][] {
    const waits: [number, number][] = []
    for (const [width, steps] of this.widths.entries()) if (steps > 0) waits.push([middleOf(width), steps])
    const last = waits.at(-1)
    if (last === undefined) return waits
    for (const wait of waits) wait[0] = Math.min(wait[0], this.longest)
    if (--last[1] === 0) waits.pop()
    waits.push([this.longest, 1])
    return waits
  }

  private halve(): void {
    const { blocks } = this
    for (let i = 0; i + 1 < blocks.length; i += 2) join(blocks[i], blocks[i + 1])
    this.blocks = blocks.filter((_, i) => i % 2 === 0)
    this.perBlock *= 2
  }
}

/** Adds a later step, or several, to an earlier one. */
function join(to: StepTimes, from: Readonly<StepTimes>): void {
  to.supply += from.supply
  to.handOver += from.handOver
  to.transfer += from.transfer
  to.compute += from.compute
  to.samples += from.samples
  to.count += from.count
  if (from.gc !== undefined) to.gc = (to.gc ?? 0) + from.gc
  if (to.ready !== undefined) delete to.ready
}

function widthOf(ms: number): number {
  if (ms <= LEAST) return 0
  return Math.min(WIDTHS - 1, 1 + Math.floor(Math.log(ms / LEAST) / Math.log(FACTOR)))
}

function middleOf(width: number): number {
  return width === 0 ? 0 : LEAST * FACTOR ** (width - 0.5)
}
