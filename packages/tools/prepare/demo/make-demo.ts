/**
 * Makes a small dataset: JPEGs of the size and detail of photographs, so that reading and decoding them costs what
 * photographs cost. Picture i is the same on every machine.
 *
 *   DIR/anemone/0000.jpg …     ten classes, pictures of 224 to 256 pixels a side
 */

import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { OnProgress } from '../../../core/source/source.js'
import { writeWhole } from '../../../core/system/files/draft.js'
import { makeFolder } from '../../../core/system/files/folder.js'
import { spread } from '../../../core/system/node/threads.js'
import { demoPainter } from './pictures.js'

export interface MakeDemoOptions {
  count?: number
  /** Threads; 0 makes the pictures in the calling one. */
  workers: number
  onProgress?: OnProgress
}

export const DEMO_CLASSES = [
  'anemone',
  'birch',
  'cloud',
  'dune',
  'ember',
  'fern',
  'glacier',
  'heather',
  'iris',
  'jade',
]

/** Pictures that a thread makes at a time. */
const RUN = 50
/** Written last: a folder with this mark is whole, and is not made again. */
const MARK = '.millrace-demo'

/** Fills `folder`; returns how many pictures there are and whether they were there already. */
export async function makeDemo(
  folder: string,
  { count = 2000, workers, onProgress }: MakeDemoOptions,
): Promise<{ folder: string; count: number; reused: boolean }> {
  const mark = join(folder, MARK)
  const wanted = `${JSON.stringify({ version: 1, count })}\n`
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return { folder, count, reused: true }
  rmSync(mark, { force: true }) // or a demo that is stopped now would seem whole to the one before it
  for (const name of DEMO_CLASSES) {
    rmSync(join(folder, name), { recursive: true, force: true })
    makeFolder(join(folder, name))
  }
  let done = 0
  await spread({
    threads: workers,
    worker: new URL('./worker.js', import.meta.url),
    setup: { folder, classes: DEMO_CLASSES },
    start: demoPainter,
    tasks: Array.from({ length: Math.ceil(count / RUN) }, (_, i) => ({
      begin: i * RUN,
      end: Math.min(count, (i + 1) * RUN),
    })),
    onProgress: more => onProgress?.((done += more), count, 'making pictures', 'pictures'),
    onResult: () => undefined,
  })
  writeWhole(mark, wanted)
  return { folder, count, reused: false }
}
