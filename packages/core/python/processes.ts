/**
 * The Python processes of this thread: one for each interpreter, started when a payload first needs it, ended when the
 * last feed lets go of it. No other thread talks to them.
 */
import type { ChildNote } from '../system/process/child.js'
import { PythonProcess } from './process.js'
import type { Payload } from './wire.js'

const processes = new Map<string, PythonProcess>()
let watcher: ChildNote | undefined

/** Tells `listener` which process this thread drives, so that the pool can end it if this thread dies. Call it first. */
export function watchProcess(listener: ChildNote): void {
  watcher = listener
}

/** This thread's process for an interpreter. */
export function pythonProcess(command: readonly string[]): PythonProcess {
  const key = command.join('\0')
  let found = processes.get(key)
  if (found === undefined) processes.set(key, (found = new PythonProcess(command, watcher)))
  return found
}

/** Starts this thread's process, if need be, and has it load a payload. The result gives it back. */
export function holdPayload(command: readonly string[], payload: Payload): () => void {
  const held = pythonProcess(command)
  const release = (): void => {
    if (!held.drop(payload.id)) return
    processes.delete(command.join('\0'))
    held.end()
  }
  try {
    held.hold(payload)
  } catch (error) {
    release()
    throw error
  }
  return release
}
