/**
 * The tables of the kernel, made once from a model: plain bytes that any thread copies into the memory of its own kernel, and where in
 * them each table lies.
 */
import { inflateRawSync } from 'node:zlib'
import { Kernel, type Tables } from '../kernels/load.js'
import { CLASS_TABLE } from '../scan/class-table.js'
import { PATTERNS } from '../scan/patterns.js'
import type { AddedToken, Model, Prefix } from './model.js'

/** Plain data: it goes to every thread, and into the cache. */
export interface CompiledVocabulary {
  pattern: number
  /** Tokens, with those in the middle that are none; without added ones that come behind. */
  count: number
  /** Greatest rank of a pair + 1. */
  ranks: number
  tables: Tables
  memory: Uint8Array
  added: readonly AddedToken[]
  nfc: boolean
  /** Words are made of characters, and "▁" is a blank. */
  characters: boolean
  prefix?: Prefix
}

const PLACES = 8704
/** The first bytes are left alone: the address 0 means that a table is absent. */
const FIRST = 64

export function compileVocabulary(model: Model): CompiledVocabulary {
  const { tokens, bytes, pairs, made, whole, characters } = model
  const classes = inflateRawSync(Buffer.from(CLASS_TABLE, 'base64'))
  const spelled = tokens.reduce((sum, { length }) => sum + length, 0)
  const pairSlots = slotsFor(pairs.length / 3 + (characters?.size ?? 0))
  const wholeSlots = whole ? slotsFor(tokens.length) : 0
  let end = FIRST
  const take = (size: number): number => {
    const at = end
    end = (end + size + 63) & ~63
    return at
  }
  const tables: Tables = {
    places: take(2 * PLACES),
    blocks: take(classes.length - 2 * PLACES),
    bytes: take(4 * 256),
    firstPairs: characters ? 0 : take(4 * 65536),
    pairs: take(8 * pairSlots),
    pairsMask: pairSlots - 1,
    made: take(4 * made.length),
    whole: whole ? take(4 * wholeSlots) : 0,
    wholeMask: wholeSlots - 1,
    starts: take(4 * (tokens.length + 1)),
    spelled: take(spelled + 16),
    end: 0,
  }
  tables.end = end

  const kernel = new Kernel(end)
  const memory = kernel.bytes()
  memory.set(classes.subarray(0, 2 * PLACES), tables.places)
  memory.set(classes.subarray(2 * PLACES), tables.blocks)
  words(memory, tables.bytes, 256).set(bytes)
  words(memory, tables.made, made.length).set(made)
  memory.fill(0xff, tables.pairs, tables.pairs + 8 * pairSlots)
  const starts = words(memory, tables.starts, tokens.length + 1)
  let at = 0
  tokens.forEach((token, id) => {
    starts[id] = at
    memory.set(token, tables.spelled + at)
    at += token.length
  })
  starts[tokens.length] = at

  kernel.use(tables, end)
  for (let i = 0; i < pairs.length; i += 3) kernel.code.addPair(pairs[i], pairs[i + 1], pairs[i + 2])
  if (characters) for (const [point, id] of characters) kernel.code.addPoint(point, id)
  else kernel.code.fillFirstPairs()
  if (whole) for (const [id, { length }] of tokens.entries()) if (length > 0) kernel.code.addWhole(id)
  const shared = new Uint8Array(new SharedArrayBuffer(end))
  shared.set(memory.subarray(0, end))
  return {
    pattern: PATTERNS[model.pattern],
    count: tokens.length,
    ranks: made.length,
    tables,
    memory: shared,
    added: model.added,
    nfc: model.nfc,
    characters: characters !== undefined,
    ...(model.prefix && { prefix: model.prefix }),
  }
}

/** A power of two: half of the slots stay empty. */
function slotsFor(entries: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(2, 2 * entries)))
}

function words(memory: Uint8Array, at: number, count: number): Uint32Array {
  return new Uint32Array(memory.buffer, at, count)
}
