/** The notice for sources whose codecs could be faster here: a library of the system is missing. */
import { codecLibraries, slowCodecs } from '../codec/slow.js'
import type { Source } from './source.js'

/** One sentence; undefined where nothing is missing. Layouts are asked for only where something is. */
export function noticeOfCodecs(sources: readonly Source[]): string | undefined {
  if (codecLibraries().every(library => library.found)) return undefined
  return slowCodecs(sources.flatMap(source => source.layout?.()?.codecs ?? []))
}
