/** `millrace diagnose`: why does the trainer wait, and what is to be done? */
import type { OpenOptions } from '../../../core/deliver/options.js'
import type { Findings } from '../../../observe/diagnose/findings.js'
import { command, type Outcome, UsageError } from '../command.js'
import { flagsOf, optionsOf } from '../option-flags.js'
import { notice, Progress } from '../progress.js'

const SEVERAL = 'a FEED, --attach PID, --loader module:object, or --evidence FILE'

const OF_FEED = ['workers', 'affinity', 'depth'] as const

export const diagnose = command({
  name: 'diagnose',
  summary: 'says why a trainer waits for its data, and what to do about it',
  about:
    'Opens the feed, feeds a trainer that sleeps --step-ms a step, and divides the time of every step: computing, being ' +
    'slowed, taking the batch over, and waiting while workers ran, queued for a core, or were blocked. Where it decides ' +
    'something, experiments are made in turns and undone. Without --step-ms: what limits the feed itself. With --attach ' +
    'it looks at a trainer that runs, in Node or Python, and only reads.',
  args: [{ name: 'FEED', about: 'a feed, as `millrace run` takes it', optional: true }],
  options: {
    'step-ms': {
      type: 'number',
      value: 'MS',
      about:
        'length of a simulated training step; with --attach: what a step takes without workers beside it',
      default: 0,
    },
    attach: { type: 'count', value: 'PID', about: 'look at a trainer that runs, or at its engine', least: 1 },
    ring: { type: 'text', value: 'NAME', about: 'with --attach: which feed, by name or number' },
    loader: {
      type: 'text',
      value: 'MODULE:OBJECT',
      about: 'look at any loader in Python, such as a DataLoader',
    },
    steps: { type: 'count', value: 'N', about: 'steps to look at (200)', least: 1 },
    seconds: { type: 'number', value: 'S', about: 'look no longer than this', default: 30, least: 0.1 },
    ...flagsOf('diagnose'),
    record: { type: 'text', value: 'FILE', about: 'keep what was seen (gzip JSON), to be judged again' },
    evidence: { type: 'text', value: 'FILE', about: 'judge what --record has kept' },
  },
  examples: [
    ['millrace diagnose cats.json --step-ms 50', 'why would a trainer with steps of 50 ms wait?'],
    ['millrace diagnose --attach 4711', 'why does the trainer wait that runs as process 4711?'],
    ['millrace diagnose --loader train.py:loader --step-ms 50', 'what holds a PyTorch DataLoader up?'],
    [
      'millrace diagnose cats.json --json --record case.json.gz',
      'then: millrace diagnose --evidence case.json.gz',
    ],
  ],
  async run({ args: [feed], values, given }) {
    const { attach, loader, evidence, ring, record, seconds, steps } = values
    const ways = [feed, attach, loader, evidence].filter(way => way !== undefined)
    if (ways.length !== 1) throw new UsageError(`millrace diagnose takes one of ${SEVERAL}`)
    if (attach === undefined && ring !== undefined)
      throw new UsageError('--ring is for a running trainer: --attach PID')
    const stepMs = values['step-ms']
    if (stepMs > 0 && evidence !== undefined)
      throw new UsageError(
        '--step-ms is for a FEED, --loader or --attach: what was recorded has its own steps',
      )
    if (feed === undefined && OF_FEED.some(name => given.has(name)))
      throw new UsageError(
        '--workers, --affinity and --depth are for a FEED: a trainer or loader has its own',
      )
    if (record !== undefined) (await import('../../../observe/diagnose/recorded.js')).checkRecordFile(record)
    let found: Findings
    if (evidence !== undefined) {
      const [{ findings }, { readEvidence }] = await Promise.all([
        import('../../../observe/diagnose/findings.js'),
        import('../../../observe/diagnose/recorded.js'),
      ])
      found = findings(readEvidence(evidence))
    } else if (loader !== undefined) {
      const { diagnoseLoader } = await import('../../../observe/diagnose/foreign.js')
      found = await diagnoseLoader(loader, { stepMs, seconds, steps })
    } else if (attach !== undefined) {
      found = await diagnoseRunning(attach, {
        ring,
        seconds,
        steps: steps ?? STEPS,
        ...(stepMs > 0 && { stepMs }),
      })
    } else {
      found = await diagnoseOwn(feed, optionsOf('diagnose', values), {
        stepMs,
        seconds,
        steps: steps ?? STEPS,
      })
    }
    if (record !== undefined) {
      const { writeEvidence } = await import('../../../observe/diagnose/recorded.js')
      writeEvidence(record, found.recorded)
    }
    return outcome(found)
  },
})

/** Steps to look at by default. */
const STEPS = 200

async function diagnoseRunning(
  pid: number,
  options: { ring?: string; stepMs?: number; seconds: number; steps: number },
): Promise<Findings> {
  const { diagnoseLive } = await import('../../../observe/diagnose/attach/live.js')
  const progress = new Progress('measuring', { unit: 'steps', total: options.steps })
  try {
    return await diagnoseLive(pid, {
      ...options,
      progress: (what, done, of) => progress.set(done, of, what, 'steps'),
    })
  } finally {
    progress.end()
  }
}

async function diagnoseOwn(
  feed: string,
  options: OpenOptions,
  length: { stepMs: number; steps: number; seconds: number },
): Promise<Findings> {
  const [{ loadFeed }, { diagnoseFeed }] = await Promise.all([
    import('../feed-argument.js'),
    import('../../../observe/diagnose/feed.js'),
  ])
  const plugins = options.plugins as string[]
  const { json, root } = await loadFeed(feed, options.allowCode, plugins)
  const progress = new Progress('opening', { unit: 'steps' })
  const opening = {
    ...options,
    root,
    plugins,
    allowCode: true, // loadFeed has refused what may not run
    progress: (done: number, total?: number) => progress.set(done, total, 'opening', 'files'),
    notice,
  }
  try {
    return await diagnoseFeed(json, opening, {
      ...length,
      progress: (what, done, of) => progress.set(done, what === 'measuring' ? of : 0, what, 'steps'),
    })
  } finally {
    progress.end()
  }
}

async function outcome({ recorded, ...found }: Findings): Promise<Outcome> {
  const { explain } = await import('../../../observe/verdict/words.js')
  return {
    json: { ...found, facts: recorded.facts, probes: recorded.probes },
    text: explain(found).trimEnd(),
  }
}
