/** `millrace diagnose`: why does the trainer wait, and what is to be done? */
import type { Findings } from '../../diagnose/findings.js'
import { ALLOW_CODE, command, type Outcome, PLUGIN, UsageError, workersOf } from '../command.js'
import { notice, Progress } from '../progress.js'

export const diagnose = command({
  name: 'diagnose',
  summary: 'says why a trainer waits for its data, and what to do about it',
  about:
    'Opens the feed, feeds a trainer that sleeps --step-ms a step, and divides the time of every step: computing, being ' +
    'slowed, taking the batch over, and waiting while workers ran, queued for a core, or were blocked. Where it decides ' +
    'something, experiments are made in turns and undone. Without --step-ms: what limits the feed itself.',
  args: [{ name: 'FEED', about: 'a feed, as `millrace run` takes it', optional: true }],
  options: {
    'step-ms': { type: 'number', value: 'MS', about: 'length of a simulated training step', default: 0 },
    steps: { type: 'count', value: 'N', about: 'steps to look at', default: 200, least: 1 },
    seconds: { type: 'number', value: 'S', about: 'look no longer than this', default: 30, least: 0.1 },
    workers: { type: 'text', value: 'N', about: 'worker threads; 0: in the calling thread', default: 'auto' },
    depth: { type: 'count', value: 'N', about: 'batches made ahead', default: 4, least: 1 },
    rank: { type: 'count', value: 'R', about: 'data-parallel rank (by default the launcher’s)' },
    world: { type: 'count', value: 'W', about: 'number of ranks', least: 1 },
    cache: { type: 'bytes', value: 'BYTES', about: 'memory of the block cache, for windowed orders' },
    timeout: { type: 'number', value: 'S', about: 'seconds that one sample may take', default: 60 },
    apply: { type: 'flag', about: 'apply the best remedy, measure again, and say what it gained' },
    record: { type: 'text', value: 'FILE', about: 'keep what was seen (gzip JSON), to be judged again' },
    evidence: { type: 'text', value: 'FILE', about: 'judge what --record has kept' },
    ...ALLOW_CODE,
    ...PLUGIN,
  },
  examples: [
    ['millrace diagnose cats.json --step-ms 50', 'why would a trainer with steps of 50 ms wait?'],
    ['millrace diagnose cats.json --step-ms 50 --apply', 'and what does the best remedy gain?'],
    [
      'millrace diagnose cats.json --json --record case.json.gz',
      'then: millrace diagnose --evidence case.json.gz',
    ],
  ],
  async run({ args: [feed], values }) {
    const { writeEvidence, readEvidence } = await import('../../diagnose/recorded.js')
    const { findings } = await import('../../diagnose/findings.js')
    if ((feed === undefined) === (values.evidence === undefined))
      throw new UsageError('millrace diagnose takes a FEED, or --evidence FILE: one of them')
    const found =
      values.evidence !== undefined
        ? findings(readEvidence(values.evidence))
        : await diagnoseOwn(feed, { ...values, stepMs: values['step-ms'], allowCode: values['allow-code'] })
    if (values.record !== undefined) writeEvidence(values.record, found.recorded)
    return outcome(found)
  },
})

interface Given {
  stepMs: number
  steps: number
  seconds: number
  workers: string
  depth: number
  rank?: number
  world?: number
  cache?: number
  timeout: number
  apply: boolean
  allowCode: boolean
  plugin: string[]
}

async function diagnoseOwn(feed: string, given: Given): Promise<Findings> {
  const [{ loadFeed }, { givenPlugins }, { diagnoseFeed }] = await Promise.all([
    import('../feed-argument.js'),
    import('../locate.js'),
    import('../../diagnose/feed.js'),
  ])
  const plugins = await givenPlugins(given.plugin)
  const { json, root } = await loadFeed(feed, given.allowCode, plugins)
  const { stepMs, steps, seconds, apply, workers, depth, rank, world, cache, timeout } = given
  const progress = new Progress('opening', { unit: 'steps' })
  const opening = {
    ...{ root, plugins, workers: workersOf(workers), depth, rank, world, cache, timeout },
    allowCode: true, // loadFeed has refused what may not run
    progress: (done: number, total?: number) => progress.set(done, total, 'opening', 'files'),
    notice,
  }
  try {
    return await diagnoseFeed(json, opening, {
      ...{ stepMs, steps, seconds, apply },
      progress: (what, done, of) => progress.set(done, what === 'measuring' ? of : 0, what, 'steps'),
    })
  } finally {
    progress.end()
  }
}

async function outcome({ recorded, ...found }: Findings): Promise<Outcome> {
  const [{ explain }, { appliedText }] = await Promise.all([
    import('../../observe/verdict/words.js'),
    import('../../diagnose/words.js'),
  ])
  const text = [explain(found), ...(found.applied ? [appliedText(found.applied)] : [])].join('\n\n')
  return { json: { ...found, facts: recorded.facts, probes: recorded.probes }, text }
}
