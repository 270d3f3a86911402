/**
 * The functions of the user's that a feed calls: on the sample, and on single fields. Those of JavaScript are found in
 * their modules, those of Python run in this thread's Python process.
 */

import { isPython, resolveCall, type UserFunction } from '../../define/build/call.js'
import { loadTokenizers } from '../../define/tokenizer.js'
import type { CallJson, NormalFeed } from '../../define/types.js'
import type { Column } from '../../source/source.js'
import { asMap } from '../../spans/clock.js'
import { importWithin } from '../../system/node/import-within.js'
import type { Job } from '../plan/job.js'
import { holdPython, pythonFieldFunction, pythonSampleFunction } from './python.js'
import type { FieldFunction, SampleFunction, UserFunctions } from './user-functions.js'

/** What a function of the user's threw, whatever it was: marks the stage at which the sample failed. */
export class MapError extends Error {
  constructor(override readonly cause: unknown) {
    super(wordsOf(cause))
  }
}

/** What was thrown, in words. It need not be an error, and may even refuse to be a text. */
function wordsOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown)
  } catch {
    return 'it threw something that can’t be shown'
  }
}

/**
 * Imports them, each in so many seconds at most, and starts Python where the feed needs it. In a maker this happens
 * once, before its first row. Those that are `here` already, by their path in the feed, need no import: in the thread
 * that defined them.
 */
export async function loadFunctions(
  feed: NormalFeed,
  seconds: number,
  here: ReadonlyMap<string, UserFunction> = new Map(),
): Promise<UserFunctions> {
  const fields = new Map<string, FieldFunction>()
  for (const { name, map } of feed.fields) {
    if (map === undefined) continue
    const fn = isPython(map)
      ? pythonFieldFunction(feed, map)
      : await imported<FieldFunction>(map, seconds, here)
    fields.set(name, (value, random) => guarded(() => fn(value, random)))
  }
  if (!feed.map) return { fields, close: holdPython(feed) }
  const sample = isPython(feed.map)
    ? pythonSampleFunction(feed, feed.map)
    : await imported<SampleFunction>(feed.map, seconds, here)
  return {
    sample: (columns, random) => guarded(() => sample(columns, random), checkColumns),
    fields,
    close: holdPython(feed),
  }
}

/** The same, with the tokenizers of the job. What they need is loaded where there are any. */
export async function withTokenizers({ tokenizers }: Job, functions: UserFunctions): Promise<UserFunctions> {
  if (tokenizers === undefined) return functions
  const { attach } = await loadTokenizers()
  const attached = Object.entries(tokenizers).map(([field, opened]) => [field, attach(opened)] as const)
  return { ...functions, tokenizers: new Map(attached) }
}

async function imported<T>(
  map: CallJson,
  seconds: number,
  here: ReadonlyMap<string, UserFunction>,
): Promise<T> {
  const found = map.call.path === undefined ? undefined : here.get(map.call.path)
  const fn = found ?? (await resolveCall(map, url => importWithin(url, seconds, 'the module of a function')))
  return ((...args: Parameters<UserFunction>) => asMap(() => fn(...args))) as T
}

/** Calls a function, which may be asynchronous, and checks its result. */
function guarded<T>(call: () => T | Promise<T>, check: (result: T) => T = result => result): T | Promise<T> {
  try {
    const result = call()
    return result instanceof Promise ? result.then(check).catch(failed) : check(result)
  } catch (error) {
    failed(error)
  }
}

function failed(error: unknown): never {
  throw new MapError(error)
}

function checkColumns(columns: Record<string, Column>): Record<string, Column> {
  if (typeof columns === 'object' && columns !== null) return columns
  throw new TypeError(
    `the function over the sample must return an object of columns, and returned ${String(columns)}`,
  )
}
