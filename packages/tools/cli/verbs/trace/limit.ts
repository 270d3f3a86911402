/** The size of a trace at the most: an option of `run` and `trace record`. */

/** In fewer bytes there is room for a few steps at best. */
const LEAST = 65_536

export const TRACE_LIMIT = { type: 'bytes', value: 'BYTES', least: LEAST } as const
