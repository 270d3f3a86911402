/**
 * The device stage as the main thread sees it: a thread that is asked for batches and reports when they are done. Tests
 * put a stage of their own behind the port.
 */
import { Worker } from 'node:worker_threads'
import { MillraceError } from '../../core/basics/errors.js'
import { type LaneRef, SpanFile } from '../../core/spans/file.js'
import { LaneKind } from '../../core/spans/span-words.js'
import { threadFlags } from '../../core/system/node/thread-flags.js'
import {
  type DeviceOpened,
  type DeviceWanted,
  type FromStage,
  type RingWanted,
  revive,
  type ToStage,
} from './messages.js'

/** The way to the stage, and back. */
export interface StagePort {
  post(message: ToStage): void
  /** Calls `received` with every message of the stage, and `ended` at the end of its thread. */
  listen(received: (message: FromStage) => void, ended: (error: Error) => void): void
  /** Keeps the process alive while something is waited for. */
  hold(yes: boolean): void
  end(): Promise<unknown>
}

/** Takes the stage's messages about batches. */
export interface StageListener {
  finished(message: Extract<FromStage, { finished: unknown }>['finished']): void
  /** Rows that the CPU had to make. */
  refused(rows: number): void
  /** One batch has failed, or, without a number, all have. */
  failed(error: Error, batch: number | undefined): void
}

/** The thread is given these besides: the word of a lock, whose holder alone calls nvJPEG, and the lane of its spans. */
export interface ThreadData extends DeviceWanted {
  nvjpegLock: SharedArrayBuffer
  spans: LaneRef | undefined
}

const nvjpegLock = new SharedArrayBuffer(4)

/** Starts the thread. */
export function stageThread(wanted: DeviceWanted): StagePort {
  const spans = SpanFile.shared()?.take(LaneKind.Device, 'device')
  const workerData: ThreadData = { ...wanted, nvjpegLock, spans }
  const worker = new Worker(new URL('./thread.js', import.meta.url), {
    workerData,
    execArgv: threadFlags(),
  })
  worker.once('exit', () => spans && SpanFile.shared()?.give(spans))
  return {
    post: message => worker.postMessage(message),
    listen: (received, ended) => {
      worker.on('message', received)
      worker.on('error', ended)
      worker.on('exit', () => ended(new MillraceError('the thread of the device stage has ended')))
    },
    hold: yes => (yes ? worker.ref() : worker.unref()),
    end: () => worker.terminate(),
  }
}

interface Deferred<T> {
  resolve(value: T): void
  reject(error: Error): void
}

export class Device {
  private opening: Deferred<DeviceOpened> | undefined
  private closed: (() => void) | undefined
  private closing: Promise<void> | undefined
  private listener: StageListener | undefined
  private readonly downloads = new Map<number, Deferred<Uint8Array<ArrayBuffer>>>()
  private nextDownload = 0
  private holders = 0
  private failure: Error | undefined
  private ended = false
  /** The thread stopped answering: it is not waited for any more. */
  private stuck = false

  private constructor(private readonly port: StagePort) {
    port.listen(
      message => this.receive(message),
      error => {
        this.ended = true
        this.fail(error)
      },
    )
  }

  /** Opens the device; rejects with what is missing. */
  static async open(port: StagePort): Promise<{ device: Device; opened: DeviceOpened }> {
    const device = new Device(port)
    device.hold(true)
    try {
      const opened = await new Promise<DeviceOpened>((resolve, reject) => {
        device.opening = { resolve, reject }
        if (device.failure) reject(device.failure)
      })
      return { device, opened }
    } catch (error) {
      await port.end()
      throw error
    } finally {
      device.hold(false)
    }
  }

  /** From now on the stage works for this ring. */
  serve(ring: RingWanted, listener: StageListener): void {
    this.listener = listener
    this.post({ ring })
  }

  post(message: ToStage): void {
    this.port.post(message)
  }

  /** Keeps the process alive while the device is waited for, and only then. */
  hold(yes: boolean): void {
    this.holders += yes ? 1 : -1
    this.port.hold(this.holders > 0)
  }

  async download(pointer: bigint, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
    if (this.failure) throw this.failure
    this.hold(true)
    try {
      return await new Promise((resolve, reject) => {
        const id = this.nextDownload++
        this.downloads.set(id, { resolve, reject })
        this.post({ download: { id, pointer, bytes } })
      })
    } finally {
      this.hold(false)
    }
  }

  /** The device stopped answering: reject all pending requests with the reason, and don't wait for its thread at the end. */
  giveUp(error: Error): void {
    this.stuck = true
    this.fail(error)
  }

  /** Gives the device's memory back, also after a failure, and ends the thread. */
  close(): Promise<void> {
    this.closing ??= this.end()
    return this.closing
  }

  private async end(): Promise<void> {
    this.listener = undefined
    if (!this.ended && !this.stuck) {
      this.hold(true)
      await new Promise<void>(resolve => {
        this.closed = resolve
        this.post({ close: true })
      })
      this.hold(false)
    }
    const ending = this.port.end()
    if (!this.stuck) await ending
  }

  private receive(message: FromStage): void {
    if ('opened' in message) this.opening?.resolve(message.opened)
    else if ('finished' in message) this.listener?.finished(message.finished)
    else if ('refused' in message) this.listener?.refused(message.refused)
    else if ('closed' in message) this.closed?.()
    else if ('downloaded' in message) {
      this.downloads.get(message.downloaded.id)?.resolve(message.downloaded.bytes)
      this.downloads.delete(message.downloaded.id)
    } else {
      const { batch, id, error } = message.failed
      if (id === undefined) this.fail(revive(error), batch)
      else {
        this.downloads.get(id)?.reject(revive(error))
        this.downloads.delete(id)
      }
    }
  }

  private fail(error: Error, batch?: number): void {
    if (batch === undefined) this.failure ??= error
    this.opening?.reject(error)
    this.listener?.failed(error, batch)
    if (batch !== undefined) return
    this.closed?.()
    for (const { reject } of this.downloads.values()) reject(error)
    this.downloads.clear()
  }
}
