/** The parts of a step in plain words. */
import { PART_NAMES, PARTS, partName } from '../../account/parts.js'
import type { MakerWork, Parts } from '../../evidence.js'

/** Short names, within the bar. `stage`: what workers do most. */
export function shortWords(stage: keyof MakerWork | null): Record<keyof Parts, string> {
  return wordsOf(part => (part === 'running' && stage !== null ? WORK[stage] : PARTS[part].word))
}

const WORK: Record<keyof MakerWork, string> = {
  open: 'opening files',
  read: 'reading',
  decode: 'decoding',
  transform: 'transforming',
  map: 'running your function',
  close: 'closing batches',
}

/** The name of each part, and what the trainer does in it, for the legend. */
export function partWords(
  stage: keyof MakerWork | null,
  /** `map`: whether it is a function of the user that is waited for; null: it may be. */
  { workers, map }: { workers: number; map: boolean | null },
): Record<keyof Parts, string> {
  return wordsOf(part => {
    if (workers === 0) return partName(part, workers)
    const { help } = PARTS[part]
    if (part === 'running' && stage !== null) return help.replace('busy with a batch', WORK[stage])
    if (part !== 'blocked' || map === null) return help
    return help.replace('storage or a function', map ? 'your function' : 'the storage')
  })
}

function wordsOf(say: (part: keyof Parts) => string): Record<keyof Parts, string> {
  return Object.fromEntries(PART_NAMES.map(part => [part, say(part)])) as Record<keyof Parts, string>
}
