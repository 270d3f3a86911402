// A round of bench/spans.mjs: a fresh process, in which all sides take short turns on the same worker threads. What the
// machine does to one side, it does to the others; what a process happens to be (its compiled code, where its memory
// lies) is the same for all, and drawn anew in each round.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { median } from '../support.mjs'

const PROGRAM = fileURLToPath(new URL('side.mjs', import.meta.url))
/** Turns of each side that don't count. */
const WARM = 2
/**
 * V8's threads that help to collect garbage spin while they look for work: on a busy machine they use a third of the process's
 * CPU time, or hardly any, as it happens.
 */
const execArgv = ['--single-threaded-gc']

/** The sides in another order each time: each stands as often in front of each other one as behind it. */
export function orderOf(sides, turn) {
  const by = (turn >> 1) % sides.length
  const turned = [...sides.slice(by), ...sides.slice(0, by)]
  return turn % 2 ? turned.reverse() : turned
}

/**
 * Time and CPU time (ms) of each side for what is counted. `levels`: by name of the side, what MILLRACE_SPANS is there. `feed` is given
 * `batches`, those of a turn, the first time. Undefined when `over()` says that time is up.
 */
export async function round(feed, levels, { number, turns, seconds, over }) {
  const child = fork(PROGRAM, [JSON.stringify({ feed: feed.feed, options: feed.open })], { execArgv })
  const ended = once(child, 'exit')
  const answer = async () => {
    const got = await Promise.race([once(child, 'message'), ended.then(() => undefined)])
    if (got === undefined) throw new Error('the process ended before it had answered')
    return got[0]
  }
  const ask = (level, wanted) => {
    const answered = answer()
    child.send([level, wanted])
    return answered
  }
  const names = Object.keys(levels)
  const taken = Object.fromEntries(names.map(name => [name, []]))
  try {
    await answer()
    if (feed.batches === undefined) {
      for (let i = 0; i < WARM; i++) feed.batches = (await ask('spans', { ms: seconds * 1000 })).got
      feed.batches = Math.max(4 * feed.open.depth, feed.batches)
    }
    for (let turn = -WARM; turn < turns; turn++) {
      for (const name of orderOf(names, number + turn + WARM)) {
        if (over()) return undefined
        const times = await ask(levels[name], { batches: feed.batches })
        if (turn >= 0) taken[name].push(times)
      }
    }
  } finally {
    child.kill('SIGKILL')
    await ended
  }
  // A turn that a neighbour on the machine disturbs is not carried into the figure.
  const middle = (name, clock) =>
    median(taken[name].map(times => times[clock])) / (feed.batches * feed.counted)
  return Object.fromEntries(
    names.map(name => [name, { wall: middle(name, 'wall'), cpu: middle(name, 'cpu') }]),
  )
}
