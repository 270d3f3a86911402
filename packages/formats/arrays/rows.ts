/** How many rows a file has along the first axis of its arrays. */
import type { ArrayType } from './member.js'

/** The first axis that most arrays share; of several, the longest. −1 where no array has one. */
export function rowsOfMembers(types: readonly ArrayType[]): number {
  const votes = new Map<number, number>()
  for (const { shape, refused, raw } of types) {
    if (shape.length === 0 || refused !== undefined || raw) continue
    votes.set(shape[0], (votes.get(shape[0]) ?? 0) + 1)
  }
  let [rows, most] = [-1, 0]
  for (const [length, count] of votes) {
    if (count > most || (count === most && length > rows)) [rows, most] = [length, count]
  }
  return rows
}
