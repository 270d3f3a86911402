/**
 * Runs the device stage in its thread: takes what is asked for in order, begins a batch whenever a lane is free, and
 * tells of each that is done. It looks into its mail after every batch, and waits for the GPU only when there is nothing
 * else to do.
 */
import type { Gpu } from '../system/cuda/index.js'
import { essence, type FromStage, type RingWanted, type ToStage } from './messages.js'
import { DeviceStage, type Finished } from './stage.js'

export class StageServer {
  private stage: DeviceStage | undefined
  /** Batches to be begun. */
  private readonly line: { batch: number; slot: number }[] = []
  private scheduled = false
  private closed = false

  constructor(
    private readonly gpu: Gpu,
    /** Where a ring's memory lies. */
    private readonly addressOf: (memory: WebAssembly.Memory) => bigint,
    private readonly say: (message: FromStage, transfer?: ArrayBuffer[]) => void,
  ) {}

  hear(message: ToStage): void {
    if (this.closed) return
    try {
      this.handle(message)
    } catch (error) {
      const id = 'download' in message ? message.download.id : undefined
      this.say({ failed: { id, error: essence(error) } })
    }
  }

  private handle(message: ToStage): void {
    if ('ring' in message) this.open(message.ring)
    else if ('stage' in message) this.line.push(message.stage)
    // It comes before those that were asked for after it.
    else if ('again' in message) this.line.unshift(message.again)
    else if ('release' in message) this.stage!.release(message.release)
    else if ('download' in message) {
      const { id, pointer, bytes } = message.download
      const downloaded = this.stage!.download(pointer, bytes)
      this.say({ downloaded: { id, bytes: downloaded } }, [downloaded.buffer])
    } else this.close()
    this.schedule()
  }

  private open({ memory, layout, scratchBytes, consumer, generator }: RingWanted): void {
    const { buffer } = memory
    const { stage: former } = this
    // Should the next one not come about, nobody may go on with streams that are gone.
    this.stage = undefined
    // Of the ring before nothing is under way, and nobody holds a batch.
    former?.close()
    this.stage = new DeviceStage(this.gpu, {
      layout,
      buffer,
      address: this.addressOf(memory),
      scratchBytes,
      consumer,
      generator,
    })
  }

  private close(): void {
    this.closed = true
    this.line.length = 0
    this.stage?.close()
    this.gpu.close()
    this.say({ closed: true })
  }

  /** Between two steps the thread reads its mail. */
  private schedule(): void {
    if (this.scheduled || this.closed || this.stage === undefined) return
    if (this.line.length === 0 && !this.stage.working) return
    this.scheduled = true
    setImmediate(() => {
      this.scheduled = false
      this.step()
      this.schedule()
    })
  }

  private step(): void {
    const { stage } = this
    if (this.closed || stage === undefined) return
    const next = stage.ready ? this.line.shift() : undefined
    try {
      if (next !== undefined) {
        const refusals = stage.begin(next.batch, next.slot)
        if (refusals.length > 0) this.say({ refused: { ...next, refusals } })
      }
      this.tell(next === undefined ? stage.finishOldest() : stage.poll())
    } catch (error) {
      this.say({ failed: { batch: next?.batch, error: essence(error) } })
    }
  }

  private tell(finished: readonly Finished[]): void {
    for (const one of finished) this.say({ finished: one })
  }
}
