/** Kinds of spans in plain words. */

/** Kinds of a worker's work, in the order of the data's way. */
export const WORK = ['open', 'read', 'decode', 'transform', 'map', 'close'] as const

export const WORK_WORDS: Record<(typeof WORK)[number], string> = {
  open: 'opens files',
  read: 'reads',
  decode: 'decodes',
  transform: 'transforms',
  map: 'runs your function',
  close: 'closes batches',
}

/** All kinds of spans, as docs/measure.md has them. `waiting` is a wait of the trainer's: it stands out. */
export const SPAN_WORDS: Record<string, string> = {
  ...WORK_WORDS,
  setup: 'opens the feed',
  make: 'makes a batch',
  epoch: 'an epoch',
  step: 'trains',
  waiting: 'waits for a batch',
  hand: 'takes a batch',
  copy: 'waits for the copy to the GPU',
  stage: 'brings a batch to the GPU',
  gc: 'collects garbage',
  wait: 'waits for a free slot',
  idle: 'has nothing to do',
}
