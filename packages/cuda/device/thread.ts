/**
 * The thread of the device stage, in the trainer's process: decoding blocks the thread that asks for it, which
 * must not be the trainer's own. It has the primary context, as the trainer has.
 */
import { parentPort, threadId, workerData } from 'node:worker_threads'
import { openLane } from '../../core/spans/file.js'
import { SharedLock } from '../../core/system/memory/shared-lock.js'
import { type Alone, addressOf, CudaDevice } from '../driver/index.js'
import type { ThreadData } from './device.js'
import { type DeviceOpened, essence, type FromStage } from './messages.js'

const port = parentPort!
const wanted = workerData as ThreadData

function send(message: FromStage, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

/** Another thread that holds the lock longer is taken to have been ended within nvJPEG. A call takes some 5 ms. */
const NVJPEG_CALL_MS = 10_000
const lock = new SharedLock(new Int32Array(wanted.nvjpegLock), 0, threadId)

const alone: Alone = work => {
  const mine = lock.acquire(NVJPEG_CALL_MS)
  try {
    return work()
  } finally {
    if (mine) lock.release()
  }
}

/** Prepares decoding, where there are pictures: its name and version, or why it can't be done. */
function decoding(device: CudaDevice): Omit<DeviceOpened, 'facts'> {
  if (wanted.nvjpeg === undefined) return {}
  try {
    return { decoder: device.prepareDecoding(alone) }
  } catch (error) {
    if (wanted.nvjpeg === 'needed') throw error
    return { without: (error as Error).message }
  }
}

/** The same for compressed arrays. Without nvCOMP the CPU decompresses them. */
function decompressing(device: CudaDevice): Omit<DeviceOpened, 'facts'> {
  if (!wanted.nvcomp) return {}
  try {
    return { nvcomp: device.prepareDecompressing() }
  } catch (error) {
    return { withoutNvcomp: (error as Error).message }
  }
}

try {
  const device = CudaDevice.open(wanted.ordinal, wanted.cache)
  send({ opened: { facts: device.facts, ...decoding(device), ...decompressing(device) } })
  // The stage and the CPU's decoders are loaded while the first batch is being made. Messages wait until then.
  const { StageServer } = await import('./server.js')
  const spans = wanted.spans && openLane(wanted.spans)
  const server = new StageServer(device, memory => addressOf(memory.buffer), send, spans)
  port.on('message', message => {
    server.receive(message)
    if ('close' in message) port.close()
  })
} catch (error) {
  send({ failed: { error: essence(error) } })
}
