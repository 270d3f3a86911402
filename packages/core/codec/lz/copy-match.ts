/** Copies what was written before, `offset` bytes back: where the two overlap, the bytes repeat. */

/** Shorter stretches are copied faster byte by byte than by a call. */
const WORTH_A_CALL = 48

/** The caller has checked that both lie within `out`. */
export function copyMatch(out: Uint8Array, put: number, offset: number, count: number): void {
  if (count >= WORTH_A_CALL && offset >= count) {
    out.copyWithin(put, put - offset, put - offset + count)
    return
  }
  if (count >= WORTH_A_CALL && offset === 1) {
    out.fill(out[put - 1], put, put + count)
    return
  }
  for (const end = put + count; put < end; put++) out[put] = out[put - offset]
}
