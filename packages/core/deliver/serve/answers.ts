/** How the requests of a client whose ring is open are answered: one line a request (docs/protocol.md). */
import { feedingStats } from '../stats.js'
import { tuneByHand } from '../tuning.js'
import { type Request, RequestError } from './request.js'
import type { Member, Serving } from './serving.js'

/** The part of a request that says what is asked for; `place` and `changes` come along with `weights`. */
type Asked = Exclude<
  keyof Request,
  'id' | 'open' | 'close' | 'place' | 'changes' | 'account' | 'look' | 'decoder'
>

/** Undefined: the client is told nothing. */
type Answer = object | undefined | Promise<object>

type Answers = {
  [Name in Asked]: (
    asked: Exclude<Request[Name], undefined>,
    serving: Serving,
    member: Member,
    request: Request,
  ) => Answer
}

const ANSWERS: Answers = {
  release: (slot, serving, member) => void serving.release(slot, member),
  limit: (limit, { feeding }) => {
    feeding.limit = limit ?? Infinity
    return undefined
  },
  move: async (move, serving, member) => ({ moved: { generation: await serving.move(move, member) } }),
  ids: (slot, serving) => ({ ids: serving.ids(slot) }),
  names: (names, serving) => ({ names: serving.names(names) }),
  steps: (from, serving) => ({ steps: serving.steps(from) }),
  bad: (batch, serving) => ({ bad: serving.bad(batch) }),
  redo: (rows, serving) => ({ redone: serving.redo(rows) }),
  weights: (weights, serving, _, { place = { epoch: 0, position: 0 }, changes }) => ({
    changes: serving.weigh(weights, place, changes),
  }),
  tune: async (change, { feeding }) => {
    await tuneByHand(feeding, change)
    return { tuned: { workers: feeding.workers, depth: feeding.depth } }
  },
  holds: (slots, serving) => void serving.makeRoom(slots),
  stats: (_, { feeding, opened }) => ({ stats: feedingStats(feeding, opened.plan.feed) }),
}

const NAMES = Object.keys(ANSWERS) as Asked[]

/** Throws RequestError where nothing is asked for that we know. */
export function answer(request: Request, serving: Serving, member: Member): Answer {
  const name = NAMES.find(part => request[part] !== undefined)
  if (name === undefined) throw new RequestError(`unknown request ${JSON.stringify(request).slice(0, 200)}`)
  // The compiler can't see that the part and its answer are of one name.
  const how = ANSWERS[name] as (asked: unknown, ...rest: [Serving, Member, Request]) => Answer
  return how(request[name], serving, member, request)
}
