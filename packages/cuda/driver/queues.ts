/**
 * Asks for more of CUDA's queues, before CUDA is first used in this process. Otherwise its streams share 8 of them, and the
 * work in one queue is done in turn, also that of different streams: nvJPEG, which has 14 streams for each decoder, and
 * the trainer would wait for each other.
 */
import { libc } from '../../core/system/native.js'
import { MOST_QUEUES, QUEUES_VARIABLE } from './numbers.js'

const setenv = libc.func('int setenv(const char *name, const char *value, int overwrite)')

/** Asks for all there are, unless the user has set a number. The driver reads C's environment, not a worker's copy. */
export function askForQueues(): void {
  setenv(QUEUES_VARIABLE, MOST_QUEUES, 0)
}
