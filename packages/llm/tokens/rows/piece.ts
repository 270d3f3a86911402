/** A piece of a document in a row: the stretches of it, with what is put before and behind the document. */
import type { PackRules } from '../pack/places.js'
import type { Stretches } from '../token-rows.js'
import { INSERTED } from './row-columns.js'
import type { Stream } from './stream.js'

/**
 * Adds tokens `from` to `from` + `tokens` − 1 of a document, counted with what is put in, from `place` on. `start`: its first token,
 * counted through all files; `all`: how many it has there.
 */
export function addPiece(
  rules: PackRules,
  stream: Stream,
  document: { start: number; all: number },
  from: number,
  tokens: number,
  place: number,
  out: Stretches,
): void {
  const { bos, eod } = rules
  const { start, all } = document
  const to = from + tokens
  const lead = bos === undefined ? 0 : 1
  const first = out.count
  if (bos !== undefined && from === 0) out.add(INSERTED, bos, 1, place)
  const low = Math.max(from, lead)
  const high = Math.min(to, lead + all)
  if (high > low)
    stream.stretches(start + low - lead, start + high - lead, place + low - from, out, out.count > first)
  if (eod !== undefined && to === lead + all + 1)
    out.add(INSERTED, eod, 1, place + tokens - 1, out.count > first)
}
