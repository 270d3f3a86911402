/** Tokenises all conversations of a source, in threads, and keeps what comes out, in the order of the rows. */
import { availableParallelism } from 'node:os'
import { SourceError } from '../../core/basics/errors.js'
import type { Nesting, OpenContext, Source } from '../../core/source/source.js'
import { spread } from '../../core/system/node/threads.js'
import { type ChatSummary, ChatWriter, type KeptChat } from './kept.js'
import { type ChatRun, type ChatRunDone, type ChatSetup, chatRows } from './rows.js'

/** Rows of a run: a thread asks for the next when it has done one. */
const RUN = 256
/** So few rows are done sooner than a thread starts. */
const FEW = 200
const MOST_THREADS = 16
/** Bad rows that are told of by name. */
const EXAMPLES = 5

export async function prepareChat(
  path: string,
  source: Source,
  setup: ChatSetup,
  { bad = 'fail', progress }: OpenContext,
  attach: Nesting['attach'],
  threads = Math.min(availableParallelism(), MOST_THREADS),
): Promise<KeptChat> {
  const writer = new ChatWriter(path, setup.tokenizer.size <= 1 << 16 ? 'u16' : 'i32')
  const summary: ChatSummary = {
    conversations: source.count,
    tokens: 0,
    trained: 0,
    dropped: 0,
    examples: [],
    named: 0,
  }
  const take = (done: ChatRunDone) => {
    for (const { row, why } of done.bad) {
      const text = `${placeOf(source, row)}: ${why}`
      if (bad === 'fail')
        throw new SourceError(
          `chat: ${text}. Repair or remove it, or leave such conversations out with "onError": "drop"`,
          source.where?.(row),
        )
      if (summary.dropped++ < EXAMPLES) summary.examples.push(text)
    }
    summary.tokens += done.tokens.length
    summary.named += done.named
    for (const bit of done.mask) summary.trained += bit
    writer.add(done.tokens, done.mask, done.lengths)
  }
  let rows = 0
  const tasks = runsOf(source.count)
  // Runs are done in any order, and written in theirs.
  const waiting = new Map<number, ChatRunDone>()
  let next = 0
  try {
    await spread<ChatSetup, ChatRun, ChatRunDone>({
      threads: source.count <= FEW ? 0 : threads,
      worker: new URL('./worker.js', import.meta.url),
      setup,
      start: setup => chatRows(setup, attach),
      tasks,
      onProgress: more => {
        rows += more
        progress?.(rows, source.count, 'tokenising conversations', 'conversations')
      },
      onResult: (result, task) => {
        waiting.set(task.begin, result)
        for (let done = waiting.get(next); done !== undefined; done = waiting.get(next)) {
          waiting.delete(next)
          take(done)
          next += RUN
        }
      },
    })
    return await writer.commit(summary)
  } catch (error) {
    writer.discard()
    throw error
  }
}

function runsOf(count: number): ChatRun[] {
  return Array.from({ length: Math.ceil(count / RUN) }, (_, i) => ({
    begin: i * RUN,
    end: Math.min(count, (i + 1) * RUN),
  }))
}

/** The file and line of a row, or what it is called. */
function placeOf(source: Source, row: number): string {
  const line = source.index('line')?.at(row)
  const file = source.where?.(row)?.file
  if (line !== undefined && file !== undefined) return `${file}, line ${line}`
  return file === undefined ? source.id(row) : `${file}, sample ${source.id(row)}`
}
