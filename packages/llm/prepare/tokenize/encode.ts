/** What a thread does: reads the documents of a task, tokenises them, and writes a part. */
import { DecodeError, SourceError } from '../../../core/basics/errors.js'
import { loadKinds } from '../../../core/source/registry.js'
import type { Manifest } from '../../../core/source/source.js'
import type { Handler } from '../../../core/system/node/threads.js'
import { attachTokenizer, type OpenedTokenizer } from '../../tokenize/open.js'
import { Fault, LineMemory } from './json/line-memory.js'
import { type BadDocument, Gathering, type Part, type PartDtype, PartWriter } from './parts.js'
import type { Piece, Task } from './plan.js'
import { LineNumbers, readAll, readBlock, readRange, readWhole } from './read/lines.js'
import { RowTexts } from './read/rows.js'

export interface EncodeSetup {
  tokenizer: OpenedTokenizer
  key: string
  onError: 'fail' | 'skip'
  folder: string
  dtype: PartDtype
  sources: Manifest[]
  /** Two counters in shared memory: bytes that were read, tokens that were made. */
  counters: BigInt64Array
}

/** Bad documents of a part, or a run, that are named one by one. */
export const MOST_NAMED = 10
/** The standard input in messages. */
const STDIN = 'stdin'

export function encoder(setup: EncodeSetup): Handler<Task, Part> {
  const { key, counters, folder, dtype, sources } = setup
  const tokenizer = attachTokenizer(setup.tokenizer)
  const memory = new LineMemory(key)
  const gathering = new Gathering()
  const texts = new Map<number, RowTexts>()
  const report = (bytes: number): void => void Atomics.add(counters, 0, BigInt(Math.round(bytes)))
  return async task => {
    const replaced = tokenizer.replaced
    const faults: BadDocument[] = []
    let skipped = 0
    const writer = new PartWriter(folder, task.number, dtype, tokenizer, gathering, tokens =>
      Atomics.add(counters, 1, BigInt(tokens)),
    )

    /** Adds a document; what is wrong with it, if anything. */
    const problemOf = (text: Uint8Array): string | undefined => {
      try {
        writer.add(text)
        return undefined
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error
        return `can't be tokenised: ${error.message}`
      }
    }

    /** Adds a document, or tells where the bad one is. */
    const add = (text: Uint8Array | Fault | undefined, where: () => Omit<BadDocument, 'problem'>): void => {
      if (text === undefined) return
      const problem = text instanceof Fault ? text.problem : problemOf(text)
      if (problem === undefined) return
      const bad = { ...where(), problem }
      if (setup.onError === 'fail') throw failure(bad)
      skipped++
      if (faults.length < MOST_NAMED) faults.push(bad)
    }

    const read = async (piece: Piece): Promise<void> => {
      if (piece.kind === 'rows') {
        if (!texts.has(piece.source)) await loadKinds([sources[piece.source]])
        const rows = texts.get(piece.source) ?? new RowTexts(sources[piece.source], key)
        texts.set(piece.source, rows)
        for (let row = piece.from; row < piece.to; row++) {
          const text = rows.text(row)
          add(text instanceof Promise ? await text : text, () => ({ file: rows.place(row) }))
          report(piece.bytes / (piece.to - piece.from))
        }
        return
      }
      if (piece.kind === 'text') {
        const { input } = piece
        return add(await readWhole(input, report), () => ({ file: input.file }))
      }
      const json = piece.kind === 'block' ? piece.json : piece.kind === 'json'
      const text = (): Uint8Array | Fault | undefined => (json ? memory.text() : memory.line)
      if (piece.kind === 'block') {
        const each = (): void => add(text(), () => ({ file: STDIN, line: piece.line + memory.lines - 1 }))
        readBlock(piece.bytes, memory, each)
        return report(piece.bytes.length)
      }
      const { input, from, to } = piece
      // In a compressed file lines are counted from its beginning.
      const counted = input.codec !== undefined
      const each = (): void =>
        add(text(), () =>
          counted ? { file: input.file, line: memory.lines } : { file: input.file, offset: memory.offset },
        )
      if (counted) await readAll(input, memory, each, report)
      else readRange(input, from, to, memory, each, report)
    }

    try {
      for (const piece of task.pieces) await read(piece)
      const crc = writer.close()
      const { documents, tokens, textBytes, empty } = writer
      return {
        number: task.number,
        documents,
        tokens,
        crc,
        textBytes,
        empty,
        skipped,
        replaced: tokenizer.replaced - replaced,
        faults,
      }
    } catch (error) {
      writer.discard()
      throw error
    }
  }
}

/** `data.jsonl, line 7, has no "text"`; counts the lines before it where that has not been done. */
export function describe(
  { file, line, offset, problem }: BadDocument,
  lines: LineNumbers = new LineNumbers(),
): string {
  const number = line ?? (offset === undefined ? undefined : lines.at(file, offset))
  return number === undefined ? `${file} ${problem}` : `${file}, line ${number}, ${problem}`
}

function failure(bad: BadDocument): SourceError {
  return new SourceError(
    `${describe(bad)}. Mend it and give --restart, or give --on-error skip to leave such documents out, which goes on where this run was`,
    { file: bad.file },
  )
}
