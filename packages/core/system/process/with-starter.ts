/** Ends this process with the one that started it, even if that is killed: nothing is left behind. */
import { constants } from 'node:os'
import { libc } from '../native.js'
import { startTime } from './proc.js'

const PR_SET_PDEATHSIG = 1
/** How often it is looked whether the starter is there (ms), where the system does not tell by itself. */
const OFTEN = 500

/** Linux sends the signal as soon as the thread is gone that started this process: also while a step blocks our thread. */
export function endWith(starter: number): void {
  const started = startTime(starter)
  if (process.platform === 'linux')
    libc.func('int prctl(int option, ...)')(PR_SET_PDEATHSIG, 'unsigned long', constants.signals.SIGKILL)
  const look = () => {
    // It may have died before the signal was asked for.
    if (started === '' || startTime(starter) !== started) process.kill(process.pid, 'SIGKILL')
  }
  look()
  setInterval(look, OFTEN).unref()
}
