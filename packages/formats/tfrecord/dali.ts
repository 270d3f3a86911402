/**
 * The index that DALI's tfrecord2idx leaves beside a file: a line a record, `offset bytes`, framing included. It is used if
 * its records follow one another from the first byte to the last, and the file has the lengths that it tells of at some places.
 * With it a file in a store that is far away need not be walked over.
 */

import { NumberBuilder } from '../../core/source/index/columns.js'
import type { ReadAt } from '../../core/source/index/read-at.js'
import { readWhole, type StoreOf } from '../../core/store/access.js'
import { isMissing } from '../../core/store/store.js'
import { FRAME, HEAD, lengthAt } from './record.js'

/** So many records, spread evenly, are compared with the file. */
const COMPARED = 32

/** Where each record begins, and the end of the last; undefined when there is no such index, or none that is right. */
export async function readDaliIndex(
  { file, bytes }: { file: string; bytes: number },
  read: ReadAt,
  stores: StoreOf,
  notice?: (text: string) => void,
): Promise<NumberBuilder | undefined> {
  const slash = file.lastIndexOf('/')
  const dot = file.lastIndexOf('.')
  const places = [`${file}.idx`, ...(dot > slash + 1 ? [`${file.slice(0, dot)}.idx`] : [])]
  for (const path of places) {
    try {
      // A line has fewer digits than its record has bytes, but for the smallest records.
      const text = (await readWhole(stores, path, 2 * bytes + 64)).toString('latin1')
      const starts = startsOf(text, bytes)
      await compare(starts, read)
      return starts
    } catch (error) {
      if (isMissing(error)) continue
      notice?.(`${path} is not used, the file is walked over instead: ${(error as Error).message}`)
      return undefined
    }
  }
  return undefined
}

function startsOf(text: string, bytes: number): NumberBuilder {
  const starts = new NumberBuilder()
  let end = 0
  let line = 0
  for (let from = 0; from < text.length; line++) {
    const to = text.indexOf('\n', from) < 0 ? text.length : text.indexOf('\n', from)
    const [, offset, size] = /^(\d{1,15}) (\d{1,15})\r?$/.exec(text.slice(from, to)) ?? []
    if (offset === undefined || Number(offset) !== end || Number(size) < FRAME)
      throw new Error(`line ${line + 1} is not the record at byte ${end}`)
    starts.push(end)
    end += Number(size)
    from = to + 1
  }
  if (end !== bytes) throw new Error(`its records end at byte ${end}, the file at byte ${bytes}`)
  starts.push(end)
  return starts
}

async function compare(starts: NumberBuilder, read: ReadAt): Promise<void> {
  const count = starts.length - 1
  const records = new Set(
    Array.from({ length: Math.min(count, COMPARED) }, (_, i) =>
      Math.floor((i * (count - 1)) / Math.max(1, Math.min(count, COMPARED) - 1)),
    ),
  )
  await Promise.all(
    [...records].map(async record => {
      const head = Buffer.alloc(HEAD)
      const at = starts.at(record)
      await read(head, at)
      if (lengthAt(head, 0) !== starts.at(record + 1) - at - FRAME)
        throw new Error(`at byte ${at} the file has no record of that length`)
    }),
  )
}
