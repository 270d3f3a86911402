/**
 * What a client says over the socket (docs/protocol.md), checked before anything is done with it: whatever is wrong with a
 * request is said in one sentence. Whether a slot or a position is there is checked where that is known (serving.ts).
 */

import { DefinitionError, MillraceError } from '../../basics/errors.js'
import { show } from '../../basics/mistakes.js'
import {
  boolean,
  either,
  type InputOf,
  integer,
  isObject,
  list,
  number,
  object,
  oneOf,
  optional,
  or,
  type Parser,
  record,
  refine,
  single,
  unchecked,
} from '../../basics/shape.js'
import type { AllowCode } from '../../define/code.js'
import type { FeedJson } from '../../define/types.js'
import type { BlendChange } from '../../order/blend/changes.js'
import { checkChange } from '../../order/state.js'
import { OPTIONS } from '../option-table.js'
import type { ClientOptions, OpenOptions } from '../options.js'

const whole = integer({ min: 0 })
const time = number({ min: 0 })
const text = single<string>('a text', value => typeof value === 'string')
const numbers = <T extends number[]>(count: number): Parser<T> =>
  single(`a list of ${count} numbers`, value => isNumbers(value) && value.length === count)
/** Any object: it is checked by who uses it. */
const some = <T>(): Parser<T> => single('an object', isObject)
/** An object with these parts. What another version of the client may send besides is ignored. */
const parts = <S extends Parameters<typeof object>[0]>(keys: S) => object(keys, 'an object', 'ignored')

const change: Parser<BlendChange> = (value, path) => {
  some()(value, path)
  checkChange(value, 0)
  return value as BlendChange
}

/** Names that one request may ask for: the engine's only thread looks them up, and meanwhile all other clients wait. */
const MOST_NAMES = 2 ** 20
const few = refine(list(whole, 'a list'), (positions, path) => {
  if (positions.length <= MOST_NAMES) return positions
  throw new DefinitionError(
    path,
    `it has ${positions.length} entries, ${MOST_NAMES} at most: ask several times`,
  )
})

const place = { epoch: whole, position: whole }

/** Options of the feed are checked where it is opened (fillOptions): here those that clients alone have. */
const options = parts({
  limit: optional(or(null, whole)),
  decode: optional(OPTIONS.decode.shape),
  nvcomp: optional(boolean),
  cpuShare: optional(number()),
  /** The folder of run logs, and when the feed was opened first (ms since 1970); null: none, whatever MILLRACE_LOG says. */
  log: optional(or(null, parts({ folder: text, since: whole }))),
})

/** What a client says first. */
const open = parts({
  version: whole,
  pid: whole,
  feed: optional(some<FeedJson>()),
  /** A module or JSON file to be loaded by the engine, in place of `feed`. */
  feedPath: optional(text),
  root: optional(text),
  variant: optional(text),
  /** By which the tuner knows the client's run: the same for all rings that it opens, one after the other. */
  run: optional(text),
  /** Whether it is open who decodes images, and the client's GPU may. */
  decides: optional(boolean),
  /** What the client calls the feed: spans name its ring by it. */
  name: optional(text),
  /** The client vouches for the code in its feed, all of it or these files: its own program built it, or its user said so. */
  allowCode: optional<AllowCode, AllowCode>(
    either(value => typeof value === 'boolean', boolean, list(text, 'true, false or a list of files')),
  ),
  /** The command of a Python process that runs such code. */
  python: optional(list(text, 'a list of words')),
  /** Modules with sources of the client's own, which the engine is to load: URLs or absolute paths. */
  plugins: optional(list(text, 'a list of URLs')),
  options: optional(options),
  /** What the client's process knows of its GPUs: its CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, and which one it uses. */
  trainer: optional(parts({ visible: optional(text), order: optional(text), device: optional(whole) })),
  /** Clients of one rank that see the same batches: the name they meet by, and how many they are. */
  share: optional(parts({ name: text, members: integer({ min: 1 }) })),
})
export type OpenRequest = Omit<InputOf<typeof open>, 'options'> & {
  options?: Omit<
    OpenOptions,
    'progress' | 'notice' | 'root' | 'variant' | 'allowCode' | 'python' | 'plugins' | 'log'
  > &
    ClientOptions &
    Pick<InputOf<typeof options>, 'limit' | 'log'>
}

/** Go on from another place. */
const move = parts({
  ...place,
  limit: or(null, whole),
  changes: optional(list(change, 'a list of changes')),
  /** Slots that the client still holds. */
  held: optional(list(whole, 'a list of slots')),
})
export type Move = InputOf<typeof move>

/** A record of a loop, as a client sends it that can't be looked into. */
export type LoopRecord = [
  kind: string,
  start: number,
  duration: number,
  batch: number,
  firstRow: number,
  rows: number,
  joined: number,
]
const loopRecord = single<LoopRecord>(
  'a list of seven',
  value =>
    Array.isArray(value) && value.length === 7 && typeof value[0] === 'string' && isNumbers(value.slice(1)),
)

/** Steps of a loop as sums (ms). The mark is one of StepMarks. */
export type LoopStep = [
  asked: number,
  supply: number,
  handOver: number,
  transfer: number,
  compute: number,
  samples: number,
  steps: number,
  gc: number,
  mark: number,
]

/** What is special about steps: the first one of a run, and those that begin a later epoch. */
export const StepMarks = { none: 0, first: 1, epochStart: 2 } as const

/** What a loop has kept of its run or epoch: all of its steps, however many. */
const sums = parts({
  /** When it began, and which look at the makers was taken then (`look`). */
  from: time,
  look: whole,
  /** When the feed was opened (ms of CLOCK_MONOTONIC). */
  begun: time,
  steps: list(numbers<LoopStep>(9), 'a list of steps'),
  /** Waits for a batch (ms), and how many steps waited about so long. */
  waits: list(numbers<[ms: number, steps: number]>(2), 'a list of waits'),
})
export type LoopSums = InputOf<typeof sums>

/** What is asked for: all of it may be left out. */
const account = parts({
  /** The window: so long, up to now; or from there on (ms of CLOCK_MONOTONIC). By default all that is still known. */
  seconds: optional(time),
  since: optional(time),
  /** How long a step takes where its batch is at hand (ms), where the user knows it. */
  idealMs: optional(time),
  device: optional(parts({ name: text, decode: oneOf(['cpu', 'gpu', 'both']) })),
  /** What the loop did, where its process can't be looked into. */
  records: optional(list(loopRecord, 'a list of records')),
  /** The window is what the loop has kept: then nothing is read of its process. */
  sums: optional(sums),
  /** Whether the evidence is answered as well: for tools that judge it themselves. */
  evidence: optional(boolean),
})
export type AccountRequest = InputOf<typeof account>

const SHAPES = {
  id: whole,
  open,
  release: whole,
  move,
  limit: or(null, whole),
  ids: whole,
  names: parts({ epoch: whole, positions: few }),
  /** Batches by tokens: steps of so many epochs from a place on. */
  steps: parts({ ...place, epochs: whole }),
  bad: whole,
  redo: parts({ slot: whole, field: text, rows: list(whole, 'a list of rows') }),
  weights: either(isObject, record(number(), 'weights by name'), list(number(), 'a list of weights')),
  place: parts(place),
  /** With `weights`: the changes that the client knows. */
  changes: list(change, 'a list of changes'),
  tune: parts({ workers: optional(whole), depth: optional(whole) }),
  /** The client waits for a batch, and holds so many slots that none may be opened. There is no answer. */
  holds: whole,
  stats: unchecked<true>(),
  /** Whether the client's GPU may decode images, where that is open; nothing: why they are decoded where they are. */
  decoder: parts({ open: optional(boolean) }),
  /** The makers are looked at now. Sums since then refer to the number. There is no answer. */
  look: whole,
  /** Where the time of the client's steps went, and why. */
  account,
  close: unchecked<true>(),
}
export type Request = Omit<{ [Name in keyof typeof SHAPES]?: InputOf<(typeof SHAPES)[Name]> }, 'open'> & {
  open?: OpenRequest
}

/** The request is wrong, not the feed. */
export class RequestError extends MillraceError {
  override readonly tag = 'Protocol'
}

/** Reads one line. Throws RequestError. */
export function readRequest(line: string): Request {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw new RequestError(`this is no request: ${(error as Error).message}`)
  }
  if (!isObject(value)) throw new RequestError(`this is no request, which is a JSON object: ${show(value)}`)
  return value
}

/** Throws RequestError where a request has a part that can't be what it says. */
export function checkRequest(request: Request): void {
  try {
    for (const [name, value] of Object.entries(request))
      if (value !== undefined && Object.hasOwn(SHAPES, name)) SHAPES[name as keyof typeof SHAPES](value, name)
  } catch (error) {
    throw error instanceof DefinitionError ? new RequestError(`the request: ${error.message}`) : error
  }
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every(one => typeof one === 'number')
}
