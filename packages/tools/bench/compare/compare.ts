/** `millrace compare A B`: two results of bench, or two run logs. What got faster, and why? */
import { closeSync, existsSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MillraceError } from '../../../core/basics/errors.js'
import { kindOf as kindOfFile, openRegular } from '../../../core/system/files/regular.js'
import { BENCH_FILE, type BenchFile, type Header, isBench, readBench } from '../result/file.js'
import type { MeasuredRun } from '../result/summary.js'
import { differs, geometricMean, ratio } from '../statistics.js'
import {
  type Block,
  type Comparison,
  compareBlocks,
  type Kind,
  type Pair,
  partsInMs,
  type SideFacts,
} from './blocks.js'
import { type Aligned, align, beginsLog, readLog } from './run-log.js'
import { conclusionOf } from './words.js'

export interface Compared {
  kind: Kind
  a: string
  b: string
  conclusion: string
  /** The first is the one that the conclusion is about. */
  pairs: Pair[]
  /** What should be known before the figures are believed. */
  notes: string[]
  /** Run logs: ms of a step, by stretches of steps. */
  stretches?: Aligned['stretches']
}

const WANTED = `give ${BENCH_FILE} of \`millrace bench\` or a run log`
/** So much of a file is looked at to tell what it is. */
const LOOKED_AT = 1 << 16

export function compare(a: string, b: string): Compared {
  const [x, y] = [kindOf(a), kindOf(b)]
  if (x !== y)
    throw new MillraceError(`${a} is ${WORDS[x]}, ${b} is ${WORDS[y]}: two of a kind can be compared`)
  if (x === 'bench') return compareBenches(readBench(a), readBench(b), { a, b })
  const found = ofLogs(a, b)
  return { kind: x, a, b, conclusion: conclusionOf(x, found.pairs), ...found }
}

const WORDS: Record<Kind, string> = { bench: 'a result of bench', log: 'a run log' }

function kindOf(place: string): Kind {
  const stats = statSync(place, { throwIfNoEntry: false })
  if (stats === undefined) throw new MillraceError(`there is no ${place}`)
  if (stats.isDirectory()) return kindOfFolder(place)
  if (!stats.isFile()) throw new MillraceError(`${place} is ${kindOfFile(stats)}: ${WANTED}`)
  if (stats.size === 0) throw new MillraceError(`${place} is empty: ${WANTED}`)
  const line = firstLine(place)
  if (isBench(line)) return 'bench'
  if (beginsLog(line)) return 'log'
  throw new MillraceError(`${place} is neither a result of bench nor a run log: ${WANTED}`)
}

function kindOfFolder(place: string): Kind {
  if (existsSync(join(place, BENCH_FILE))) return 'bench'
  const log = readdirSync(place).find(
    name => name.endsWith('.jsonl') && beginsLog(firstLine(join(place, name))),
  )
  if (log !== undefined) return 'log'
  throw new MillraceError(`${place} has neither ${BENCH_FILE} nor a run log (*.jsonl)`)
}

function firstLine(path: string): string {
  const { fd } = openRegular(path)
  try {
    const bytes = Buffer.alloc(LOOKED_AT)
    return bytes.toString('utf8', 0, readSync(fd, bytes)).split('\n', 1)[0]
  } finally {
    closeSync(fd)
  }
}

type Found = Pick<Compared, 'pairs' | 'notes' | 'stretches'>

/** What of two files is not the same: reasons not to compare them. */
export function reasonsAgainst(before: Header, now: Header): string[] {
  const reasons: string[] = []
  const say = (what: string, a: unknown, b: unknown) => {
    if (a !== b) reasons.push(`${what}: ${a} then, ${b} now`)
  }
  say('another CPU', before.machine.cpu, now.machine.cpu)
  say('other cores', before.machine.cores, now.machine.cores)
  say('another feed (order hash)', before.data.order, now.data.order)
  say('another feed (content hash)', before.data.content, now.data.content)
  say('another batch', before.data.batch, now.data.batch)
  say('another step', before.parameters.stepMs, now.parameters.stepMs)
  return reasons
}

/** Two results of bench, called `a` and `b`. */
export function compareBenches(x: BenchFile, y: BenchFile, called: { a: string; b: string }): Compared {
  const [own, other] = [byConfiguration(x), byConfiguration(y)]
  const names = [...own.keys()].filter(name => other.has(name))
  if (names.length === 0) throw new MillraceError('the two have no configuration in common')
  const pairs = names.map((name): Pair => {
    const [then, now] = [own.get(name)!, other.get(name)!]
    return {
      name,
      a: factsOf(then),
      b: factsOf(now),
      comparison: { ...compareBlocks(then.map(blockOf), now.map(blockOf)), rate: rateOf(then, now) },
    }
  })
  const role = (name: string) => own.get(name)![0].configuration.role
  const best = x.summary?.choice?.best
  // First what most people run; then the best; then the others as they come.
  const rank = ({ name }: Pair) => (role(name) === 'default' ? 0 : name === best ? 1 : 2)
  const left = [...own.keys(), ...other.keys()].filter(name => !names.includes(name))
  pairs.sort((p, q) => rank(p) - rank(q))
  return {
    kind: 'bench',
    ...called,
    conclusion: conclusionOf('bench', pairs),
    pairs,
    notes: [
      ...reasonsAgainst(x.header, y.header),
      ...(left.length > 0 ? [`only in one of the two: ${left.join(', ')}`] : []),
    ],
  }
}

function byConfiguration({ runs }: BenchFile): Map<string, MeasuredRun[]> {
  const groups = new Map<string, MeasuredRun[]>()
  for (const run of runs) {
    const { name } = run.configuration
    groups.set(name, [...(groups.get(name) ?? []), run])
  }
  return groups
}

/** Rounds count alike, however many steps they had. */
function rateOf(then: readonly MeasuredRun[], now: readonly MeasuredRun[]): Comparison['rate'] {
  const [a, b] = [then, now].map(runs => runs.map(({ figures }) => figures.samplesPerSecond))
  const change = ratio(b, a)
  return {
    a: geometricMean(a),
    b: geometricMean(b),
    of: 'samples',
    ratio: change,
    significant: differs(change),
  }
}

function factsOf(runs: readonly MeasuredRun[]): SideFacts {
  const sorted = [...runs].sort((p, q) => p.figures.samplesPerSecond - q.figures.samplesPerSecond)
  const { configuration, figures } = sorted[(sorted.length - 1) >> 1]
  return { workers: configuration.workers, depth: configuration.depth, verdict: figures.verdict }
}

function blockOf({ figures: { steps, samples, stepMs, parts } }: MeasuredRun): Block {
  const ms = steps * stepMs
  return { steps, samples, ms, parts: partsInMs(parts, ms) }
}

function ofLogs(a: string, b: string): Found {
  const [x, y] = [readLog(a), readLog(b)]
  const { from, to, stretches, ...blocks } = align(x, y)
  const notes = [`steps ${from} to ${to}, which both have; the first 5 s of each are left out`]
  if (x.ranks !== y.ranks) notes.push(`${x.ranks} ranks in A, ${y.ranks} in B`)
  const facts = ({ workers, depth, verdict }: SideFacts) => ({ workers, depth, verdict })
  const comparison = compareBlocks(blocks.a, blocks.b)
  return { pairs: [{ name: 'run', a: facts(x), b: facts(y), comparison }], notes, stretches }
}
