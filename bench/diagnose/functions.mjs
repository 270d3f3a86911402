// Functions of a user's, as slow as a case says. Every worker has its own copy of this module.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const never = new Int32Array(new SharedArrayBuffer(4))
const pause = ms => Atomics.wait(never, 0, 0, ms)
let sink = 1

/** Work for the CPU: so many rounds, whatever the clock says. */
export function work(rounds) {
  for (let i = 0; i < rounds; i++) sink = (Math.imul(sink, 1664525) + 1013904223) | 0
}

/** Rounds of `work` a millisecond, on a core that is free. */
export function roundsPerMs() {
  work(2e7)
  const begun = process.cpuUsage()
  work(4e7)
  const { user, system } = process.cpuUsage(begun)
  return 4e7 / ((user + system) / 1000)
}

/**
 * @param rounds work a sample; `slowRounds`: that of one sample in `slowEvery`
 * @param sleepMs sleeps that long a sample; `onlyRank`: only in that rank (the environment variable EXAM_RANK)
 * @param firstMs the first call in a worker sleeps so long
 * @param gcEvery collects all garbage after so many samples
 */
export function slow({
  rounds = 0,
  slowRounds = 0,
  slowEvery = 0,
  sleepMs = 0,
  onlyRank,
  firstMs = 0,
  gcEvery = 0,
}) {
  const here = onlyRank === undefined || String(onlyRank) === process.env.EXAM_RANK
  let calls = 0
  const collect = gcEvery > 0 ? collector() : undefined
  return random => {
    if (calls++ === 0 && firstMs > 0) pause(firstMs)
    if (slowEvery > 0 && random.int(slowEvery) === 0) work(slowRounds)
    else if (rounds > 0 && here) work(rounds)
    if (sleepMs > 0 && here) pause(sleepMs)
    if (collect !== undefined && calls % gcEvery === 0) collect()
  }
}

/** A full collection of a heap with many small objects. */
function collector() {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc')
  const kept = Array.from({ length: 300_000 }, (_, i) => ({ i, of: [i] }))
  return () => {
    gc()
    sink += kept.length
  }
}
