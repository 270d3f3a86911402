import type { Format } from '../../packages/core/define/format.js'

/** Python's functions of formats whose builders are not written by hand. */
export function pythonBuilders(formats: readonly Pick<Format, 'name' | 'facts'>[]): string
