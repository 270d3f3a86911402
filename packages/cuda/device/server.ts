/**
 * Runs the device stage in its thread: takes what is asked for in order, begins a batch whenever a lane is free, and
 * reports each that is done. It reads its messages after every batch, and waits for the GPU only when there is nothing
 * else to do.
 */
import { CpuDecoder, type DecoderJob } from '../../core/engine/make/cpu-decoder.js'
import type { SpanLane } from '../../core/spans/lane.js'
import { SpanKind } from '../../core/spans/span-words.js'
import type { Gpu } from '../driver/index.js'
import { essence, type FromStage, type RingWanted, type ToStage } from './messages.js'
import { DeviceStage, type Finished, type StageOptions } from './stage.js'

export class StageServer {
  private stage: DeviceStage | undefined
  /** Batches to be begun. */
  private readonly line: { batch: number; slot: number }[] = []
  private scheduled = false
  private closed = false
  private ring = 0
  /** When the thread had done what it was last at. */
  private last = performance.now()

  constructor(
    private readonly gpu: Gpu,
    /** The address of a ring's memory. */
    private readonly addressOf: (memory: WebAssembly.Memory) => bigint,
    private readonly send: (message: FromStage, transfer?: ArrayBuffer[]) => void,
    /** The lane that its spans are written to. */
    private readonly spans?: SpanLane,
  ) {}

  receive(message: ToStage): void {
    if (this.closed) return
    try {
      this.handle(message)
    } catch (error) {
      const id = 'download' in message ? message.download.id : undefined
      this.send({ failed: { id, error: essence(error) } })
    }
  }

  private handle(message: ToStage): void {
    if ('ring' in message) this.open(message.ring)
    else if ('stage' in message) this.line.push(message.stage)
    else if ('release' in message) this.stage!.release(message.release)
    else if ('download' in message) {
      const { id, pointer, bytes } = message.download
      const downloaded = this.stage!.download(pointer, bytes)
      this.send({ downloaded: { id, bytes: downloaded } }, [downloaded.buffer])
    } else this.close()
    this.schedule()
  }

  private open({ id, job, scratchBytes, consumer, generator }: RingWanted): void {
    this.ring = id
    const { memory, layout, feed } = job
    const { stage: former } = this
    // If the next stage can't be made, none is left: the streams of the former one are gone.
    this.stage = undefined
    // Nothing of the ring before is under way, and no batch of it is held: see DeviceRun.due.
    former?.close()
    this.stage = new DeviceStage(this.gpu, {
      layout,
      buffer: memory.buffer,
      address: this.addressOf(memory),
      scratchBytes,
      consumer,
      generator,
      redo: this.redoing(job),
      policy: feed.onError.policy,
    })
  }

  /** Has the CPU, in this thread, make rows that the device refuses. */
  private redoing(job: DecoderJob): StageOptions['redo'] {
    let decoder: CpuDecoder | undefined
    return (slot, field, rows) =>
      rows.flatMap(row => {
        decoder ??= new CpuDecoder(job)
        const bad = decoder.redo(slot, field, row)
        this.send({ refused: 1 })
        return bad ?? []
      })
  }

  private close(): void {
    this.closed = true
    this.spans?.flush()
    this.line.length = 0
    this.stage?.close()
    this.gpu.close()
    this.send({ closed: true })
  }

  /** Between two steps the thread reads its messages. */
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
    this.mark(SpanKind.Idle, 0)
    try {
      if (next === undefined) {
        const finished = stage.finishOldest()
        this.mark(SpanKind.Wait, this.ring, finished[0]?.batch)
        this.report(finished)
        return
      }
      const copied = stage.begin(next.batch, next.slot)
      this.mark(SpanKind.Stage, this.ring, next.batch, copied)
      this.report(stage.poll())
    } catch (error) {
      this.send({ failed: { batch: next?.batch, error: essence(error) } })
    }
  }

  /** Books the time since the last mark. */
  private mark(kind: SpanKind, ring: number, batch?: number, work?: { bytes: number; rows: number }): void {
    const now = performance.now()
    this.spans?.of(ring).add(kind, this.last, now - this.last, { batch, ...work })
    this.last = now
  }

  private report(finished: readonly Finished[]): void {
    for (const one of finished) this.send({ finished: one })
  }
}
