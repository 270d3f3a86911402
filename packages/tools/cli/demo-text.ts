/** `millrace demo --text`: makes text, tokenises it, blends and packs it, and feeds a simulated GPU with it. */
import { join, resolve } from 'node:path'
import type { TokensFeedJson } from '../../core/define/token-feed.js'
import { Progress } from './progress.js'
import { right, table } from './table.js'
import { amount, bytes, count, counted, percent } from './units.js'

const TOKENIZER = 'millrace-4k'
const LENGTH = 1024
const BATCH = 16
const SEED = 7
/** Bytes of text of each corpus, and how often rows come of it. */
const CORPUS = 6e6
const WEIGHTS = { web: 5, code: 3, books: 2 }
/** Steps of the simulated GPU, batches that padding is counted in, and seconds in which the feed runs as fast as it goes. */
const STEPS = 150
const LOOKED = 40
const SECONDS = 1

type Pack = 'concat' | 'bestFit'

interface TextRun {
  pack: Pack
  tokensPerSecond: number
  padding: number
  gpuBusy: number
  waitMsPerStep: number
}

export interface TextDemo {
  json: object
  text: string
}

export async function demoText(
  outDir: string,
  { stepMs, workers, program }: { stepMs: number; workers: number; program: string },
): Promise<TextDemo> {
  const [{ makeText }, { writeWhole }] = await Promise.all([
    import('../prepare/demo/text.js'),
    import('../../core/system/files/draft.js'),
  ])
  const out = resolve(outDir)
  const texts = makeText(join(out, 'text'), CORPUS, SEED)
  const tokenised = await tokenise(texts, join(out, 'tokens'), workers)
  const runs: TextRun[] = []
  for (const pack of ['concat', 'bestFit'] as const) {
    runs.push(await feedTrainer(pack, feedOf(pack, join(out, 'tokens')), stepMs, workers))
  }
  const feed = join(out, 'text.json') // the demo of pictures has a feed.json there
  writeWhole(feed, `${JSON.stringify(feedOf('bestFit', 'tokens'), null, 2)}\n`)
  const { textBytes, seconds, tokens, documents } = tokenised
  const text = [
    `tokenised  ${counted(documents, 'document')}, ${bytes(textBytes)} of text → ${amount(tokens)} tokens ` +
      `(${TOKENIZER}): ${(textBytes / 1e6 / seconds).toFixed(0)} MB/s, ${amount(tokens / seconds)} tokens/s`,
    `blended    ${Object.entries(WEIGHTS)
      .map(([name, weight]) => `${weight} ${name}`)
      .join(' : ')}`,
    '',
    `batches of ${BATCH} × ${count(LENGTH)} tokens, a GPU that computes ${stepMs} ms a step, ${counted(workers, 'worker')}:`,
    '',
    tableOf(runs),
    '',
    `Next: ${program} tokens inspect ${join(outDir, 'tokens')}`,
    `      ${program} run ${join(outDir, 'text.json')} --steps 1000 --step-ms ${stepMs}`,
  ].join('\n')
  return { json: { tokenised: { ...tokenised, mbPerSecond: textBytes / 1e6 / seconds }, runs, feed }, text }
}

/** Tokenises each corpus into a file of its own. */
async function tokenise(
  texts: Readonly<Record<string, string>>,
  folder: string,
  workers: number,
): Promise<{ documents: number; tokens: number; textBytes: number; seconds: number }> {
  const { tokenize } = await import('../../llm/prepare/tokenize/tokenize.js')
  const progress = new Progress('tokenising', { unit: 'bytes' })
  const sum = { documents: 0, tokens: 0, textBytes: 0, seconds: 0 }
  for (const [name, path] of Object.entries(texts)) {
    const begun = performance.now()
    const result = await tokenize([path], {
      tokenizer: { path: TOKENIZER },
      out: join(folder, name),
      format: 'megatron',
      key: 'text',
      lines: false,
      eod: true,
      workers,
      onError: 'fail',
      budget: 0,
      restart: true,
      root: folder,
      onProgress: ({ done, total }) => progress.set(done, total),
    })
    sum.seconds += (performance.now() - begun) / 1000
    sum.documents += result.documents
    sum.tokens += result.tokens
    sum.textBytes += result.textBytes
  }
  progress.end()
  return sum
}

/** Rows of all corpora, blended by weight. */
function feedOf(pack: Pack, folder: string): TokensFeedJson {
  const entries = Object.entries(WEIGHTS).map(([name, weight]) => ({
    name,
    weight,
    source: { tokens: { path: join(folder, `${name}.bin`), length: LENGTH, pack } },
  }))
  return {
    source: { blend: { entries } },
    order: { shuffle: 'global', seed: SEED },
    fields: ['input', 'target', 'cuSeqlens'],
    batch: BATCH,
  }
}

/** How a feed does: as fast as it goes, with the share of padding; then with a GPU that takes its time. */
async function feedTrainer(
  pack: Pack,
  feed: TokensFeedJson,
  stepMs: number,
  workers: number,
): Promise<TextRun> {
  const [{ open }, { train }, { measureTokens }] = await Promise.all([
    import('../../core/deliver/node/open.js'),
    import('./trainer.js'),
    import('./measure-feed.js'),
  ])
  // The table says it.
  const notice = () => {}
  const options = { root: '.', plugins: [], workers, seconds: SECONDS, notice }
  const { tokensPerSecond } = await measureTokens(feed, options)
  const loader = open(feed, { workers, steps: STEPS, epochs: null, notice })
  await loader.ready
  const progress = new Progress(pack, { unit: 'steps', total: STEPS })
  let places = 0
  let without = 0
  const { waitFraction, steps } = await train(loader, 1, {
    stepMs,
    onBatch: (batch, step) => {
      if (step >= LOOKED) return
      const target = batch.get('target') as BigInt64Array
      places += target.length
      without += target.reduce((sum, token) => sum + (token < 0n ? 1 : 0), 0)
    },
    onStep: step => progress.set(step + 1),
  })
  progress.end()
  await loader.close()
  const later = steps.slice(1)
  const waitMs = later.reduce((sum, step) => sum + step.wait, 0)
  return {
    pack,
    tokensPerSecond,
    padding: without / places,
    gpuBusy: 1 - waitFraction,
    waitMsPerStep: waitMs / Math.max(1, later.length),
  }
}

function tableOf(runs: readonly TextRun[]): string {
  return table(
    ['rows', ...['tokens/s at most', 'padding', 'GPU busy', 'wait per step'].map(right)],
    runs.map(run => [
      run.pack,
      amount(run.tokensPerSecond),
      `${(100 * run.padding).toFixed(2)} %`,
      percent(run.gpuBusy),
      `${run.waitMsPerStep.toFixed(1)} ms`,
    ]),
  )
}
