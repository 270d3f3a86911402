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

function say(message: FromStage, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

/** How long others may be in nvJPEG (ms); one that was ended there never leaves. A call takes some 5 ms. */
const PATIENCE = 10_000
const turn = new SharedLock(new Int32Array(wanted.turn), 0, threadId)

const alone: Alone = work => {
  const mine = turn.acquire(PATIENCE)
  try {
    return work()
  } finally {
    if (mine) turn.release()
  }
}

/** Whether pictures can be decoded, where there are any. */
function decoding(device: CudaDevice): Omit<DeviceOpened, 'facts'> {
  if (wanted.nvjpeg === undefined) return {}
  try {
    return { decoder: device.prepareDecoding(alone) }
  } catch (error) {
    if (wanted.nvjpeg === 'needed') throw error
    return { without: (error as Error).message }
  }
}

/** Whether arrays can be decompressed, where there are any. Without nvCOMP the CPU does it. */
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
  say({ opened: { facts: device.facts, ...decoding(device), ...decompressing(device) } })
  // The stage and the CPU's decoders are loaded while the first batch is being made. Messages wait until then.
  const { StageServer } = await import('./server.js')
  const spans = wanted.spans && openLane(wanted.spans)
  const server = new StageServer(device, memory => addressOf(memory.buffer), say, spans)
  port.on('message', message => {
    server.hear(message)
    if ('close' in message) port.close()
  })
} catch (error) {
  say({ failed: { error: essence(error) } })
}
