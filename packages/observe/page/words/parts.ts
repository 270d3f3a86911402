/** The parts of a step in plain words. */
import type { MakerWork, Parts } from '../../evidence.js'

/** In the order in which a bar shows them. */
export const PARTS: readonly (keyof Parts)[] = [
  ...(['ideal', 'slowed', 'handOver', 'transfer'] as const),
  ...(['running', 'queued', 'blocked', 'noSlot'] as const),
]

/** Short names, within the bar. */
export function shortWords(stage: keyof MakerWork | null): Record<keyof Parts, string> {
  return { ...SHORT, running: stage === null ? SHORT.running : WORK[stage] }
}

const SHORT: Record<keyof Parts, string> = {
  ideal: 'training',
  slowed: 'slowed',
  handOver: 'hand-over',
  transfer: 'copy',
  running: 'making batches',
  queued: 'no core',
  blocked: 'storage',
  noSlot: 'no slot',
}

const WORK: Record<keyof MakerWork, string> = {
  open: 'opening files',
  read: 'reading',
  decode: 'decoding',
  transform: 'transforming',
  map: 'running your function',
  close: 'closing batches',
}

/** The name of each part of a step, for the legend. */
export function partWords(
  stage: keyof MakerWork | null,
  /** `map`: whether it is a function of the user that is waited for; null: it may be. */
  { workers, map }: { workers: number; map: boolean | null },
): Record<keyof Parts, string> {
  const who = workers === 0 ? 'the trainer itself' : 'workers'
  const were = workers === 0 ? 'was' : 'were'
  return {
    ideal: 'training',
    slowed: 'training, but slower than alone',
    handOver: 'batch ready, being taken over',
    transfer: 'batch being copied to the GPU',
    running: `${who} ${were} ${stage === null ? 'making batches' : WORK[stage]}`,
    queued: `${who} waited for a core`,
    blocked: `${who} waited for ${map === null ? 'the storage or a function' : map ? 'your function' : 'the storage'}`,
    noSlot: `${who} had no free slot`,
  }
}
