/** Writes down what a controller saw and what it decided, as JSON lines, and shows it the same signals again. */
import type { TunerDecision } from '../../live/record.js'
import type { Controller, Look, Seen } from './closed-loop.js'

/** Digits of a signal after the point: enough for µs, and a file stays small. */
const DIGITS = 1e3

/** One look: all that was seen, in the order in which it was asked for, and what came of it. */
export interface RecordedLook {
  now: number
  sees: { from: number; full: boolean; seen: Seen[] }[]
  set: Look['set']
  decisions: Decided[]
  wake: number
}

/** A decision without the day on which it was made, and without its words, which may become better ones. */
export type Decided = Omit<TunerDecision, 'time' | 'reason'>

/** The controller, with every look told to `write`. It is given what is written: rounded signals. */
export function recording(controller: Controller, write: (look: RecordedLook) => void): Controller {
  return {
    look(now, see) {
      const sees: RecordedLook['sees'] = []
      const look = controller.look(now, (from, full) => {
        const seen = rounded(see(from, full))
        sees.push({ from, full, seen })
        return seen
      })
      write({ now, sees, ...decided(look) })
      return look
    },
  }
}

/** What the controller decides on the signals of a recorded look. It must ask for the same ones. */
export function again(
  controller: Controller,
  { now, sees }: RecordedLook,
): Omit<RecordedLook, 'now' | 'sees'> {
  let next = 0
  const look = controller.look(now, (from, full) => {
    const one = sees[next++]
    if (one === undefined || Math.abs(one.from - from) > 1e-6 || one.full !== full)
      throw new Error(
        `at ${now} ms the controller asked for what was not recorded: from ${from} ms${full ? ', with claims' : ''}`,
      )
    return one.seen
  })
  return decided(look)
}

function decided({ set, decisions, wake }: Look): Omit<RecordedLook, 'now' | 'sees'> {
  return { set, decisions: decisions.map(({ time: _, reason: __, ...one }) => one), wake }
}

function rounded<T>(value: T): T {
  const round = (_: string, one: unknown) =>
    typeof one === 'number' ? Math.round(one * DIGITS) / DIGITS : one
  return JSON.parse(JSON.stringify(value, round)) as T
}
