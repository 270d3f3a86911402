// The faults that the exam plants. A kind gives a healthy setting (`base`), and what is done to it (`faults`): the name that a verdict
// should have, by the way the fault was made, and the changes that plant it. Whether it counts is measured.
//
// g is the step (ms), B the batch, P the lane's cores, M the makers; s says how much longer a batch takes to make than a step.

const STORE = ['small', 'jpeg']
const ROW_BYTES = { small: 10_000, jpeg: 30_000 }

/** A drawn batch and step for a feed: making a batch takes at most `share` of a step with all cores. */
function begin({ draw, cost, cores }, feeds, share = 0.5) {
  const feed = draw.one(feeds)
  const batch = draw.one(feed === 'jpeg' ? [16, 24, 32] : [32, 48, 64])
  const least = (batch * cost[feed]) / (cores.length * share)
  const stepMs = round(Math.max(least, draw.between(8, 24)))
  return { feed, batch, stepMs, workers: cores.length, depth: 4, cores }
}

const round = value => Math.round(value * 100) / 100
/** Rounds of work for each sample, so that making takes so many cores' time. */
const load = ({ cost, roundsPerMs }, { feed, batch, stepMs }, busyCores) =>
  Math.max(0, Math.round(((stepMs * busyCores) / batch - cost[feed]) * roundsPerMs))
const limited = (base, s) => ({
  bytesPerSecond: Math.round((base.batch * ROW_BYTES[base.feed] * 1000) / (base.stepMs * s)),
})
/** Sleep for each sample so that a batch takes s steps. */
const nap = ({ batch, stepMs, workers }, s) => round((stepMs * s * workers) / batch)

export const KINDS = {
  bandwidth(lane) {
    const base = { ...begin(lane, STORE), store: {} }
    return {
      base,
      faults: [{ name: 'storage-bandwidth', with: { store: limited(base, lane.draw.between(1.4, 3.5)) } }],
    }
  },
  latency(lane) {
    const base = { ...begin(lane, STORE, 0.4), store: {} }
    return { base, faults: [{ name: 'io-latency', latency: lane.draw.between(1.5, 3.5) }] }
  },
  files(lane) {
    const { draw, cost, cores } = lane
    const batch = draw.one([96, 128, 192])
    const stepMs = round((batch * cost.files) / (cores.length * draw.between(1.4, 2.2)))
    const base = { feed: 'small', batch, stepMs, workers: cores.length, depth: 4, cores }
    return { base, faults: [{ name: 'small-files', with: { feed: 'files' } }] }
  },
  sleeping(lane) {
    const base = { ...begin(lane, ['rows', 'npy', 'small', 'jpeg'], 0.4), fn: {} }
    base.workers = lane.draw.one([1, lane.cores.length, lane.cores.length + 1])
    base.stepMs = Math.max(base.stepMs, round((base.batch * lane.cost[base.feed] * 2) / base.workers))
    const sleepMs = nap(base, lane.draw.between(1.4, 3.5))
    return { base, faults: [{ name: 'your-function', with: { fn: { sleepMs } } }] }
  },
  spinning(lane) {
    const base = { ...begin(lane, ['rows', 'npy', 'small', 'jpeg'], 0.4), fn: {} }
    base.workers = lane.draw.one([lane.cores.length + 1, 2 * lane.cores.length])
    const rounds = load(lane, base, lane.cores.length * lane.draw.between(1.5, 3))
    return { base, faults: [{ name: 'cpu-saturated', with: { fn: { rounds } } }] }
  },
  pinned(lane) {
    const base = begin(lane, ['rows', 'npy', 'small', 'jpeg'], 0.8)
    base.fn = { rounds: load(lane, base, lane.cores.length * lane.draw.between(0.7, 0.85)) }
    return { base, faults: [{ name: 'cpu-saturated', with: { cores: lane.cores.slice(0, 1) } }] }
  },
  few(lane) {
    const base = begin(lane, ['rows', 'npy', 'small', 'jpeg'], 0.8)
    const most = Math.min(3, lane.cores.length * 0.85)
    base.fn = { rounds: load(lane, base, lane.draw.between(1.3, Math.max(1.5, most))) }
    return { base, faults: [{ name: 'under-parallel', with: { workers: 1 } }] }
  },
  hogs(lane) {
    const base = begin(lane, ['rows', 'npy', 'small', 'jpeg'], 0.8)
    base.fn = { rounds: load(lane, base, lane.cores.length * lane.draw.between(0.65, 0.85)) }
    const hogs = lane.draw.one([1, 1.5, 2]) * lane.cores.length
    return { base, faults: [{ name: 'crowded-host', with: { hogs } }] }
  },
  uneven(lane) {
    const { draw, cores, roundsPerMs } = lane
    const batch = draw.one([3, 4, 5])
    const ms = draw.between(0.6, 1.5)
    const times = draw.between(20, 26)
    const mean = (0.98 + 0.02 * times) * ms
    // What makers can make is 1.5 times what is wanted, slow samples counted in.
    const stepMs = round((1.5 * batch * mean) / cores.length)
    const rounds = Math.round(ms * roundsPerMs)
    const base = { feed: 'rows', batch, stepMs, workers: cores.length, depth: 2, cores, fn: { rounds } }
    const slow = { rounds, slowEvery: 50, slowRounds: Math.round(rounds * times) }
    return { base, faults: [{ name: 'variance', with: { fn: slow } }] }
  },
  'large-pictures'(lane) {
    const { draw, cores, cost } = lane
    const batch = draw.one([3, 4, 6])
    const stepMs = round(Math.max(2, (1.5 * batch * cost.mixed) / cores.length))
    const base = { feed: 'jpeg', batch, stepMs, workers: cores.length, depth: 2, cores }
    return { base, faults: [{ name: 'variance', with: { feed: 'mixed' } }] }
  },
  crowding(lane) {
    const base = { ...begin(lane, ['rows', 'npy', 'small'], 0.8), attach: true, knowsStep: true, workers: 1 }
    base.fn = { rounds: load(lane, base, lane.draw.between(0.65, 0.8)) }
    base.stepRounds = Math.round(base.stepMs * lane.roundsPerMs)
    return { base, faults: [{ name: 'crowding-trainer', with: { workers: 3 * lane.cores.length } }] }
  },
  rank(lane) {
    const base = { ...begin(lane, ['rows', 'npy', 'small'], 0.4), attach: true, ranks: 2, workers: 1, fn: {} }
    const sleepMs = nap(base, lane.draw.between(1.5, 3))
    return { base, faults: [{ name: 'straggler', with: { fn: { sleepMs, onlyRank: 1 } } }] }
  },
  collecting(lane) {
    const base = { ...begin(lane, ['rows', 'npy', 'small'], 0.4), fn: {} }
    // Of each batch's making, so many collections.
    const each = (base.stepMs * lane.draw.between(1.5, 3) * base.workers) / lane.gcMs
    return {
      base,
      faults: [
        { name: 'runtime-pause', with: { fn: { gcEvery: Math.max(1, Math.round(base.batch / each)) } } },
      ],
    }
  },
  opening(lane) {
    const base = { ...begin(lane, STORE, 0.4), store: {}, fromStart: true }
    return {
      base,
      faults: [{ name: 'start-up', with: { store: { openMs: Math.round(lane.draw.between(1000, 2500)) } } }],
    }
  },
  'first-call'(lane) {
    const base = { ...begin(lane, ['rows', 'npy', 'small', 'jpeg'], 0.4), fn: {}, fromStart: true }
    return {
      base,
      faults: [{ name: 'start-up', with: { fn: { firstMs: Math.round(lane.draw.between(1000, 2500)) } } }],
    }
  },
  wide(lane) {
    const { draw, cores, cost } = lane
    const batch = 128
    const stepMs = round(Math.max(40, (batch * cost.wide * 1.5) / cores.length) * draw.between(1, 1.2))
    const base = {
      feed: 'wide',
      batch: 8,
      stepMs: round(stepMs / 16),
      workers: cores.length,
      depth: 3,
      cores,
    }
    return { base, faults: [{ name: 'hand-over', with: { batch, stepMs } }] }
  },
}

/** Nothing is wrong, or nothing that matters: the trainer is the limit. */
export const HEALTHY = {
  plain: lane => ({ base: begin(lane, ['rows', 'npy', 'small', 'files', 'jpeg'], 0.45), faults: [] }),
  'far-away'(lane) {
    const base = { ...begin(lane, STORE, 0.3), store: {} }
    return { base, faults: [{ latency: lane.draw.between(0.2, 0.4) }] }
  },
  'one-worker'(lane) {
    const base = begin(lane, ['rows', 'npy', 'small', 'jpeg'], 0.3)
    base.stepMs = round(Math.max(base.stepMs, 2 * base.batch * lane.cost[base.feed]))
    return { base, faults: [{ with: { workers: 1 } }] }
  },
  'short-naps'(lane) {
    const base = { ...begin(lane, ['rows', 'npy', 'small'], 0.3), fn: {} }
    return { base, faults: [{ with: { fn: { sleepMs: nap(base, lane.draw.between(0.2, 0.4)) } } }] }
  },
  'some-work'(lane) {
    const base = { ...begin(lane, ['rows', 'npy', 'small'], 0.3), fn: {} }
    return { base, faults: [{ with: { fn: { rounds: load(lane, base, 0.3 * lane.cores.length) } } }] }
  },
  'one-hog'(lane) {
    const base = begin(lane, ['rows', 'npy', 'small'], 0.15)
    return { base, faults: [{ with: { hogs: 1 } }] }
  },
  'own-trainer'(lane) {
    const base = { ...begin(lane, ['rows', 'npy', 'small', 'jpeg'], 0.2), attach: true }
    return { base, faults: [] }
  },
}

/** Two faults, each in a part of its own. */
export const PAIRS = {
  'latency, few'(lane) {
    const base = { ...begin(lane, ['small'], 0.4), store: {} }
    base.fn = { rounds: load(lane, base, 1.2) }
    return {
      base,
      faults: [
        { name: 'io-latency', latency: 1.3 },
        { name: 'under-parallel', with: { workers: 1 } },
      ],
    }
  },
  'sleeping, hogs'(lane) {
    const base = begin(lane, ['rows', 'npy', 'small'], 0.4)
    const rounds = load(lane, base, lane.cores.length * 0.6)
    base.fn = { rounds }
    const sleepMs = nap(base, lane.draw.between(0.9, 1.3))
    const hogs = 2 * lane.cores.length
    return {
      base,
      faults: [
        { name: 'your-function', with: { fn: { rounds, sleepMs } } },
        { name: 'crowded-host', with: { hogs } },
      ],
    }
  },
  'latency, hogs'(lane) {
    const base = { ...begin(lane, ['small'], 0.4), store: {} }
    base.fn = { rounds: load(lane, base, lane.cores.length * 0.6) }
    return {
      base,
      faults: [
        { name: 'io-latency', latency: 1.2 },
        { name: 'crowded-host', with: { hogs: 2 * lane.cores.length } },
      ],
    }
  },
  'opening, sleeping'(lane) {
    const base = { ...begin(lane, STORE, 0.4), store: {}, fn: {}, fromStart: true }
    const sleepMs = nap(base, lane.draw.between(1.3, 1.6))
    return {
      base,
      faults: [
        { name: 'start-up', with: { store: { openMs: Math.round(lane.draw.between(1500, 2500)) } } },
        { name: 'your-function', with: { fn: { sleepMs } } },
      ],
    }
  },
}
