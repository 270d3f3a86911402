/**
 * From slots to batches on the device, some ahead of need. Slots are taken in order as makers finish them, go through
 * the stage, and return to the makers as soon as nothing reads them any more; what the consumer holds is memory of the
 * device.
 */

import { EngineError } from '../../core/basics/errors.js'
import { Header } from '../../core/batch/slot.js'
import type { BatchOwner } from '../../core/deliver/node/batch.js'
import { completedAt, type Sink, type Taken } from '../../core/deliver/node/sink.js'
import type { BadReport } from '../../core/engine/plan/job.js'
import type { Feeding } from '../../core/engine/ring/feeding.js'
import { monotonicMs } from '../../core/spans/clock.js'
import type { Device } from './device.js'
import { deviceBatchClass, type HostPart, hostPart } from './device-batch.js'
import { DEVICE_BYTES } from './facts.js'
import { layoutOutput, type OutputLayout } from './plan.js'
import type { Finished } from './stage.js'

/** A batch that is on the device. */
interface Delivered {
  output: number
  pointer: bigint
  host: HostPart
  /** Samples that turned out to be bad when the CPU decoded what the device had refused. */
  bad: BadReport[]
  /** When the device was done with it (ms of CLOCK_MONOTONIC). */
  arrived: number
}

/** Batches that are on the device, or on their way, beyond the one that is asked for. */
const BATCHES_AHEAD = 3
/** While the device is waited for, it is checked this often that it does not stand still. */
const CHECK_EVERY_MS = 500

export interface DeviceSinkOptions {
  owner: BatchOwner
  fields: readonly string[]
  /** Images whose channels come last in memory. */
  channelsLast: ReadonlySet<string>
  /** The stream on which batches are used. */
  consumer: bigint
  /** Rows that were refused before. */
  refusedRows: number
  /** Called when a batch was taken. */
  taken(): void
}

export class DeviceSink implements Sink {
  readonly spare = 0
  private readonly layout: OutputLayout
  private readonly BatchClass: ReturnType<typeof deviceBatchClass>
  private readonly download = (pointer: bigint, bytes: number): Promise<Uint8Array<ArrayBuffer>> =>
    this.device.download(pointer, bytes)
  /** Rows that the device's decoder refused so far. */
  refusedRows: number
  /** The batch that was asked for last, and the next to be taken from the makers. */
  private asked = 0
  private next = 0
  /** Slots that are with the stage, and the checks of it since it last did something. */
  private holding = 0
  private checks = 0
  /** Outputs that the consumer has. */
  private readonly lent = new Set<number>()
  private readonly ready = new Map<number, Delivered | Error>()
  private pumping: Promise<void> | undefined
  private stopped = false
  private failure: Error | undefined
  private wakers: (() => void)[] = []

  constructor(
    private readonly feeding: Feeding,
    private readonly device: Device,
    private readonly options: DeviceSinkOptions,
  ) {
    this.layout = layoutOutput(feeding.layout)
    this.refusedRows = options.refusedRows
    feeding.holds = () => this.lent.size
    this.BatchClass = deviceBatchClass(options.fields)
    const { consumer } = options
    device.serve(
      {
        id: feeding.id,
        job: feeding.decoderJob,
        scratchBytes: DEVICE_BYTES,
        consumer,
        generator: feeding.generator,
      },
      {
        finished: one => this.finished(one),
        refused: rows => this.refused(rows),
        failed: (error, batch) => this.failed(error, batch),
      },
    )
    this.extended()
  }

  extended(): void {
    this.pumping ??= this.takeSlots().finally(() => {
      this.pumping = undefined
    })
  }

  async take(batch: number): Promise<Taken> {
    const { output, pointer, host, bad, arrived } = await this.waitFor(batch)
    const { slot } = host
    const { owner, channelsLast, taken } = this.options
    taken()
    const there = { output, pointer, layout: this.layout, channelsLast, download: this.download }
    return {
      index: output,
      samples: slot.words[Header.Valid],
      bad: slot.words[Header.Bad] > 0 ? [...this.feeding.badOf(batch), ...bad] : [],
      completed: completedAt(slot),
      arrived,
      batch: () => new this.BatchClass(owner, host, there),
    }
  }

  private async waitFor(batch: number): Promise<Delivered> {
    this.asked = batch
    this.extended()
    if (this.lent.size >= this.feeding.depth) {
      throw new EngineError(
        `all ${this.feeding.depth} batches that the depth allows are kept on the device: ` +
          'release() one before asking for the next, or raise the depth',
      )
    }
    this.device.hold(true)
    try {
      for (;;) {
        const found = this.ready.get(batch) ?? this.failure
        if (found instanceof Error) throw found
        if (found !== undefined) {
          this.ready.delete(batch)
          this.lent.add(found.output)
          return found
        }
        await this.changeUnlessHung()
      }
    } finally {
      this.device.hold(false)
    }
  }

  release(output: number): void {
    if (this.lent.delete(output)) this.device.post({ release: output })
  }

  async drain(): Promise<void> {
    this.stopped = true
    this.device.hold(true)
    await this.pumping
    while (this.holding > 0 && this.failure === undefined) await this.changeUnlessHung()
    this.device.hold(false)
    for (const one of this.ready.values())
      if (!(one instanceof Error)) this.device.post({ release: one.output })
    this.ready.clear()
    this.asked = this.next = 0
    this.stopped = false
    // The stage may still be at work: its later messages must not be taken for another ring's.
    if (this.failure) throw this.failure
  }

  /** The consumer holds no batch. */
  get vacant(): boolean {
    return this.lent.size === 0
  }

  /** Also gives the device's memory back: batches that are still held are gone. */
  async close(): Promise<void> {
    this.stopped = true
    this.failed(new EngineError('the loader was closed while a batch was waited for'), undefined)
    let closed = false
    const closing = this.device.close().finally(() => {
      closed = true
      this.wake()
    })
    // Wait for batches under way, and for the device itself.
    this.holding++
    this.checks = 0
    while (!closed) await this.changeUnlessHung()
    await closing
  }

  /** Takes slots from the makers while there is room ahead. */
  private async takeSlots(): Promise<void> {
    while (this.mayTake()) {
      const batch = this.next++
      try {
        const slot = await this.feeding.take(batch)
        if (this.stopped || this.failure) {
          this.feeding.release(slot)
          return
        }
        if (this.holding++ === 0) this.checks = 0
        this.device.post({ stage: { batch, slot } })
      } catch (error) {
        this.settle(batch, error as Error)
        return
      }
    }
  }

  private mayTake(): boolean {
    const { ring, depth } = this.feeding
    if (this.stopped || this.failure) return false
    return this.next < ring.startAt.limit && this.next <= this.asked + BATCHES_AHEAD && this.holding < depth
  }

  private finished({ batch, slot, output, pointer, bad }: Finished): void {
    this.checks = 0
    const host = hostPart(this.feeding.slot(slot))
    this.giveBack(slot)
    const named = bad.map(one => this.feeding.nameBad(one))
    this.settle(batch, { output, pointer, host, bad: named, arrived: monotonicMs() })
    this.extended()
  }

  /** The CPU has made rows that the device refused: it is at work. */
  private refused(rows: number): void {
    this.checks = 0
    this.refusedRows += rows
  }

  private giveBack(slot: number): void {
    this.holding--
    this.feeding.release(slot)
  }

  private failed(error: Error, batch: number | undefined): void {
    // After an error of the GPU nothing that comes later can be relied on.
    this.failure ??= error
    if (batch !== undefined) this.settle(batch, error)
    else this.wake()
  }

  /** Resolves when something has come to its end. */
  private change(): Promise<void> {
    return new Promise(resolve => this.wakers.push(resolve))
  }

  /** The same, but not forever: a GPU may stand still. */
  private async changeUnlessHung(): Promise<void> {
    // Checks are counted instead of time: a process that was stopped meanwhile (Ctrl-Z) has made none.
    const timer = setTimeout(() => {
      this.checks++
      this.wake()
    }, CHECK_EVERY_MS)
    await this.change()
    clearTimeout(timer)
    const { timeout } = this.feeding.options
    if (this.holding === 0 || this.checks * CHECK_EVERY_MS < timeout * 1000) return
    this.device.giveUp(
      new EngineError(
        `the GPU has been at one batch for ${timeout} s: use decode: "cpu", or raise "timeout" if that may take so long`,
      ),
    )
  }

  private wake(): void {
    for (const waker of this.wakers.splice(0)) waker()
  }

  private settle(batch: number, result: Delivered | Error): void {
    this.ready.set(batch, result)
    this.wake()
  }
}
