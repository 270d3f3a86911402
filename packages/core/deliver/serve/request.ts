/**
 * What a client says over the socket (docs/protocol.md), checked before anything is done with it: whatever is wrong with a
 * request is said in one sentence. Whether a slot or a position is there is checked where that is known (serving.ts).
 */

import { MillraceError } from '../../basics/errors.js'
import type { AllowCode } from '../../define/code.js'
import type { FeedJson } from '../../define/types.js'
import type { BlendChange } from '../../order/blend/changes.js'
import { checkChange } from '../../order/state.js'
import type { Place } from '../../order/steps.js'
import type { ClientOptions, OpenOptions } from '../options.js'

/** What a client says first. */
export interface OpenRequest {
  version: number
  pid: number
  feed?: FeedJson
  /** A module or JSON file to be loaded by the engine, in place of `feed`. */
  feedPath?: string
  root?: string
  variant?: string
  /** By which the tuner knows the client's run: the same for all rings that it opens, one after the other. */
  run?: string
  /** Whether it is open who decodes images, and the client's GPU may. */
  decides?: boolean
  /** What the client calls the feed: spans name its ring by it. */
  name?: string
  /** The client vouches for the code in its feed, all of it or these files: its own program built it, or its user said so. */
  allowCode?: AllowCode
  /** The command of a Python process that runs such code. */
  python?: string[]
  /** Modules with sources of the client's own, which the engine is to load: URLs or absolute paths. */
  plugins?: string[]
  options?: Omit<
    OpenOptions,
    'progress' | 'notice' | 'root' | 'variant' | 'decode' | 'allowCode' | 'python' | 'plugins' | 'log'
  > &
    ClientOptions & {
      limit?: number | null
      decode?: OpenOptions['decode'] | 'auto'
      /** The folder of run logs, and when the feed was opened first (ms since 1970); null: none, whatever MILLRACE_LOG says. */
      log?: { folder: string; since: number } | null
    }
  /** What the client's process knows of its GPUs: its CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, and which one it uses. */
  trainer?: { visible?: string; order?: string; device?: number }
  /** Clients of one rank that see the same batches: the name they meet by, and how many they are. */
  share?: { name: string; members: number }
}

/** Go on from another place. */
export interface Move extends Place {
  limit: number | null
  changes?: BlendChange[]
  /** Slots that the client still holds. */
  held?: number[]
}

/** A record of a loop, as a client sends it that can't be looked into. */
export type ToldRecord = [
  kind: string,
  start: number,
  duration: number,
  batch: number,
  firstRow: number,
  rows: number,
  joined: number,
]

/** Steps of a loop as sums (ms). The mark is one of StepMarks. */
export type ToldStep = [
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
export interface LoopSums {
  /** When it began, and which look at the makers was taken then (`look`). */
  from: number
  look: number
  /** When the feed was opened (ms of CLOCK_MONOTONIC). */
  begun: number
  steps: ToldStep[]
  /** Waits for a batch (ms), and how many steps waited about so long. */
  waits: [ms: number, steps: number][]
}

/** What is asked for: all of it may be left out. */
export interface AccountRequest {
  /** The window: so long, up to now; or from there on (ms of CLOCK_MONOTONIC). By default all that is still known. */
  seconds?: number
  since?: number
  /** How long a step takes where its batch is at hand (ms), where the user knows it. */
  idealMs?: number
  device?: { name: string; decode: 'cpu' | 'gpu' | 'both' }
  /** What the loop did, where its process can't be looked into. */
  records?: ToldRecord[]
  /** The window is what the loop has kept: then nothing is read of its process. */
  sums?: LoopSums
  /** Whether the evidence is told as well: for tools that judge it themselves. */
  evidence?: boolean
}

export type Request = { id?: number } & Partial<{
  open: OpenRequest
  release: number
  move: Move
  limit: number | null
  ids: number
  names: { epoch: number; positions: number[] }
  /** Batches by tokens: steps of so many epochs from a place on. */
  steps: Place & { epochs: number }
  bad: number
  redo: { slot: number; field: string; rows: number[] }
  weights: number[] | Record<string, number>
  place: Place
  /** With `weights`: the changes that the client knows. */
  changes: BlendChange[]
  tune: { workers?: number; depth?: number }
  /** The client waits for a batch, and holds so many slots that none may be opened. There is no answer. */
  holds: number
  stats: true
  /** Whether the client's GPU may decode images, where that is open; nothing: why they are decoded where they are. */
  decoder: { open?: boolean }
  /** The makers are looked at now. Sums since then refer to the number. There is no answer. */
  look: number
  /** Where the time of the client's steps went, and why. */
  account: AccountRequest
  close: true
}>

/** Names that one request may ask for. */
const MOST_NAMES = 2 ** 20

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
  if (!isRecord(value)) throw new RequestError(`this is no request, which is a JSON object: ${shown(value)}`)
  return value as Request
}

/** Throws RequestError where a request has a part that can't be what it says. */
export function checkRequest(request: Request): void {
  for (const [name, value] of Object.entries(request)) {
    if (value !== undefined && Object.hasOwn(CHECKS, name)) CHECKS[name](value, name)
  }
}

type Check = (value: unknown, path: string) => void

const whole: Check = (value, path) => {
  if (!Number.isSafeInteger(value) || (value as number) < 0) refuse(path, 'a whole number from 0', value)
}
const some: Check = (value, path) => {
  whole(value, path)
  if (value === 0) refuse(path, 'a whole number from 1', value)
}
const text: Check = (value, path) => {
  if (typeof value !== 'string') refuse(path, 'a text', value)
}
const flag: Check = (value, path) => {
  if (typeof value !== 'boolean') refuse(path, 'true or false', value)
}
const record: Check = (value, path) => {
  if (!isRecord(value)) refuse(path, 'an object', value)
}
const number: Check = (value, path) => {
  if (typeof value !== 'number') refuse(path, 'a number', value)
}
const positive: Check = (value, path) => {
  number(value, path)
  if (!((value as number) >= 0 && Number.isFinite(value))) refuse(path, 'a number from 0', value)
}
const toldRecord: Check = (value, path) => {
  if (!Array.isArray(value) || value.length !== 7) refuse(path, 'a list of seven', value)
  const [kind, ...rest] = value as unknown[]
  text(kind, path)
  for (const one of rest) number(one, path)
}
const numbers =
  (count: number): Check =>
  (value, path) => {
    if (!Array.isArray(value) || value.length !== count) refuse(path, `a list of ${count} numbers`, value)
    for (const one of value as unknown[]) number(one, path)
  }
const orNull =
  (check: Check): Check =>
  (value, path) =>
    value === null || check(value, path)
const listOf =
  (check: Check): Check =>
  (value, path) => {
    if (!Array.isArray(value)) refuse(path, 'a list', value)
    const list = value as unknown[]
    let i = 0
    try {
      for (; i < list.length; i++) check(list[i], path)
    } catch {
      check(list[i], `${path}[${i}]`) // the same, with the place that is wrong: long lists are checked without naming it
    }
  }
/** An object with these parts. Those in `optional` may be left out; others are nothing to us. */
const parts =
  (needed: Record<string, Check>, optional: Record<string, Check> = {}): Check =>
  (value, path) => {
    record(value, path)
    const given = value as Record<string, unknown>
    for (const [name, check] of Object.entries(needed)) check(given[name], `${path}.${name}`)
    for (const [name, check] of Object.entries(optional))
      if (given[name] !== undefined) check(given[name], `${path}.${name}`)
  }

const place = { epoch: whole, position: whole }
const change: Check = (value, path) => {
  record(value, path)
  checkChange(value, 0)
}
const code: Check = (value, path) => {
  if (typeof value !== 'boolean') listOf(text)(value, path)
}
/** Positions to be named: the engine's only thread looks them up, and meanwhile all other clients wait. */
const few: Check = (value, path) => {
  listOf(whole)(value, path)
  const { length } = value as unknown[]
  if (length > MOST_NAMES)
    throw new RequestError(`"${path}" has ${length} entries, ${MOST_NAMES} at most: ask several times`)
}
const weights: Check = (value, path) => {
  if (!isRecord(value)) return listOf(number)(value, path)
  for (const [name, weight] of Object.entries(value)) number(weight, `${path}.${name}`)
}
const options = parts(
  {},
  {
    limit: orNull(whole),
    state: record,
    sequence: record,
    decode: text,
    nvcomp: flag,
    cpuShare: number,
    observe: text,
    tune: text,
    log: orNull(parts({ folder: text, since: whole })),
  },
)

const CHECKS: Record<string, Check> = {
  id: whole,
  open: parts(
    { version: whole, pid: whole },
    {
      feed: record,
      feedPath: text,
      root: text,
      variant: text,
      name: text,
      run: text,
      decides: flag,
      allowCode: code,
      python: listOf(text),
      plugins: listOf(text),
      options,
      trainer: parts({}, { visible: text, order: text, device: whole }),
      share: parts({ name: text, members: some }),
    },
  ),
  release: whole,
  move: parts(place, { limit: orNull(whole), changes: listOf(change), held: listOf(whole) }),
  limit: orNull(whole),
  ids: whole,
  names: parts({ epoch: whole, positions: few }),
  steps: parts({ ...place, epochs: whole }),
  bad: whole,
  redo: parts({ slot: whole, field: text, rows: listOf(whole) }),
  weights,
  place: parts(place),
  changes: listOf(change),
  tune: parts({}, { workers: whole, depth: whole }),
  holds: whole,
  look: whole,
  decoder: parts({}, { open: flag }),
  account: parts(
    {},
    {
      seconds: positive,
      since: positive,
      idealMs: positive,
      evidence: flag,
      device: parts({ name: text, decode: text }),
      records: listOf(toldRecord),
      sums: parts({
        from: positive,
        look: whole,
        begun: positive,
        steps: listOf(numbers(9)),
        waits: listOf(numbers(2)),
      }),
    },
  ),
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refuse(path: string, expected: string, value: unknown): never {
  throw new RequestError(`"${path}" of the request should be ${expected}, not ${shown(value)}`)
}

/** A value in a message: short, whatever was sent. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing'
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
