/**
 * States, by the name of their file: of which feed, by which program saved ("node", "cli", "python"), after how many
 * steps, as which rank, and with which weights set after which step. `then`: with what else, beside one rank, they are
 * taken up.
 */
export const states = {
  begin: { feed: 'order: global', by: 'cli', steps: 0 },
  'mid-epoch': { feed: 'order: global', by: 'node', steps: 3, then: [{ world: 3 }, { batch: 4 }] },
  'mid-epoch-cli': { feed: 'source: tar', by: 'cli', steps: 2 },
  'mid-epoch-python': { feed: 'order: global', by: 'python', steps: 5 },
  'epoch-end': { feed: 'order: global', by: 'node', steps: 8 },
  'epoch-end-python': { feed: 'source: tar', by: 'python', steps: 5 },
  'second-epoch': { feed: 'order: global', by: 'cli', steps: 11 },
  'dropped-rest': { feed: 'order: global, drop', by: 'node', steps: 5, then: [{ batch: 16 }] },
  padded: { feed: 'order: global, pad', by: 'node', steps: 4, then: [{ world: 2 }] },
  'world-3': {
    feed: 'order: global, rank 1 of 3',
    by: 'node',
    steps: 2,
    world: 3,
    rank: 1,
    then: [{ world: 2 }, { world: 3 }],
  },
  'world-2-cli': { feed: 'subset: range', by: 'cli', steps: 1, world: 2, rank: 1, then: [{ world: 2 }] },
  'world-2-python': { feed: 'zip', by: 'python', steps: 1, world: 2, rank: 0, then: [{ world: 4 }] },
  window: { feed: 'order: window', by: 'node', steps: 6 },
  weights: { feed: 'order: weights, balanced', by: 'node', steps: 4 },
  list: { feed: 'source: files by a list', by: 'node', steps: 1 },
  folder: { feed: 'source: folder', by: 'node', steps: 1 },
  concat: { feed: 'concat', by: 'node', steps: 1 },
  where: { feed: 'subset: where of a list', by: 'node', steps: 1 },
  split: { feed: 'split: fractions', by: 'node', steps: 1 },
  stratified: { feed: 'split: stratifyBy', by: 'node', steps: 1 },
  grouped: { feed: 'split: groupBy', by: 'node', steps: 1 },
  blend: { feed: 'blend', by: 'node', steps: 4 },
  'blend-weights': {
    feed: 'blend',
    by: 'node',
    steps: 4,
    weights: { 2: { a: 1, c: 4 } },
    then: [{ world: 2 }],
  },
  'blend-weights-twice': {
    feed: 'blend',
    by: 'node',
    steps: 13,
    weights: { 2: { a: 1, c: 4 }, 11: { b: 9 } },
  },
  'blend-weights-python': { feed: 'blend', by: 'python', steps: 4, weights: { 3: { a: 0, b: 2 } } },
  'blend-per-batch': { feed: 'blend: per batch', by: 'node', steps: 4, weights: { 1: { c: 5 } } },
  functions: { feed: 'functions: JavaScript', by: 'node', steps: 2 },
}
