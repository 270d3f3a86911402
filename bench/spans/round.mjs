// A round of bench/spans.mjs: one fresh process for each side, and short turns of all of them one after the other. What the
// machine does to one side, it does to the others; what a process happens to be (its compiled code, where its memory
// lies) is drawn anew in each round.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('side.mjs', import.meta.url))
const WARM = 3
/**
 * V8's threads that help to collect garbage spin while they look for work: on a busy machine they use a third of the process's
 * CPU time, or hardly any, as it happens. Without them two processes that do the same use the same.
 */
const execArgv = ['--single-threaded-gc']

class Side {
  wall = 0
  cpu = 0

  constructor(name, level, setting) {
    this.name = name
    const env = { ...process.env, MILLRACE_SPANS: level }
    this.child = fork(PROGRAM, [JSON.stringify(setting)], { env, execArgv })
    this.ended = once(this.child, 'exit')
    this.opened = this.answer()
  }

  async answer() {
    const got = await Promise.race([once(this.child, 'message'), this.ended.then(() => undefined)])
    if (got === undefined) throw new Error(`the process of ${this.name} ended before it had answered`)
    return got[0]
  }

  ask(...what) {
    const answer = this.answer()
    this.child.send(what)
    return answer
  }

  async close() {
    this.child.kill('SIGKILL')
    await this.ended
  }
}

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
  const setting = { feed: feed.feed, options: feed.open }
  const sides = []
  try {
    for (const [name, level] of orderOf(Object.entries(levels), number))
      sides.push(new Side(name, level, setting))
    for (const side of sides) await side.opened
    if (feed.batches === undefined) {
      for (let i = 0; i < WARM; i++) feed.batches = await sides[0].ask('count', seconds * 1000)
      feed.batches = Math.max(2 * feed.open.depth, feed.batches)
    }
    for (let turn = -WARM; turn < turns; turn++) {
      for (const side of orderOf(sides, number + turn + WARM)) {
        if (over()) return undefined
        if (turn === 0) await side.ask('spent')
        const ms = await side.ask('take', feed.batches)
        if (turn >= 0) side.wall += ms
      }
    }
    for (const side of sides) side.cpu = await side.ask('spent')
  } finally {
    await Promise.all(sides.map(side => side.close()))
  }
  const counted = turns * feed.batches * feed.counted
  return Object.fromEntries(
    sides.map(({ name, wall, cpu }) => [name, { wall: wall / counted, cpu: cpu / counted }]),
  )
}
