/**
 * More of CUDA's queues, asked for before CUDA is first used in this process. Its streams share 8 of them otherwise, and
 * what lies in one queue goes in turn, whichever streams it is of: nvJPEG, with 14 streams for each decoder, and the
 * trainer would wait for each other.
 */
import { libc } from '../native.js'
import { MOST_QUEUES, QUEUES_VARIABLE } from './numbers.js'

const setenv = libc.func('int setenv(const char *name, const char *value, int overwrite)')

/** Asks for all there are; who has chosen already knows why. The driver reads C's environment, not a worker's copy. */
export function askForQueues(): void {
  setenv(QUEUES_VARIABLE, MOST_QUEUES, 0)
}
