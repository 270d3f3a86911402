/**
 * The thread of the device stage, in the trainer's process: decoding blocks whoever asks for it, and the trainer's own
 * thread has better things to do. It has the primary context, as the trainer has.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { addressOf, CudaDevice } from '../system/cuda/index.js'
import { type DeviceOpened, type DeviceWanted, essence, type FromStage } from './device-messages.js'
import { StageServer } from './device-server.js'

const port = parentPort!
const wanted = workerData as DeviceWanted

function say(message: FromStage, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

/** Whether pictures can be decoded, as far as that is wanted. */
function decoding(device: CudaDevice): Omit<DeviceOpened, 'facts'> {
  if (wanted.decode === 'cpu') return {}
  try {
    return { decoder: device.prepareDecoding() }
  } catch (error) {
    if (wanted.decode === 'gpu') throw error
    return { without: (error as Error).message }
  }
}

/** Whether arrays can be decompressed, where there are any. Without nvCOMP the CPU does it. */
function decompressing(device: CudaDevice): Omit<DeviceOpened, 'facts'> {
  if (wanted.decode === 'cpu' || !wanted.nvcomp) return {}
  try {
    return { nvcomp: device.prepareDecompressing() }
  } catch (error) {
    return { withoutNvcomp: (error as Error).message }
  }
}

try {
  const device = CudaDevice.open(wanted.ordinal, wanted.cache)
  const server = new StageServer(device, memory => addressOf(memory.buffer), say)
  port.on('message', message => {
    server.hear(message)
    if ('close' in message) port.close()
  })
  say({ opened: { facts: device.facts, ...decoding(device), ...decompressing(device) } })
} catch (error) {
  say({ failed: { error: essence(error) } })
}
