/** Large tables of Megatron's order are made once, and kept in the cache folder. */
import { readdirSync, truncateSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { documentsOf, writeMegatron } from '../../../../../test/support/tokens.js'
import { tokenShape } from '../../../../core/define/check/tokens/fields.js'
import { openTokenFiles } from '../../../tokens/formats/open.js'
import { megatronRows } from '../../../tokens/megatron/open.js'
import { type MegatronData, MegatronRows } from '../../../tokens/rows/megatron-rows.js'
import { Stretches } from '../../../tokens/token-rows.js'

const folder = temporaryFolder()
const cache = temporaryFolder()
const order = {
  samples: 90,
  seed: 7,
  split: [1, 0, 0],
  take: 0,
  extra: true,
  keepPartial: false,
  surplus: 0.005,
}

/** The stretches of all rows, and what was told. */
async function rowsOf(large: number, more: Partial<typeof order> = {}) {
  const notices: string[] = []
  const context = { root: folder, wanted: [], notice: (text: string) => notices.push(text) }
  const files = await openTokenFiles('web', {}, context)
  const opened = await megatronRows(files, tokenShape({ length: 8 }), { ...order, ...more }, context, large)
  const rows = new MegatronRows(structuredClone(opened.rows as MegatronData))
  const stretches = Array.from({ length: rows.count }, (_, row) => {
    const out = new Stretches()
    rows.stretches(row, 0, out)
    return Array.from({ length: out.count }, (_, i) => [out.offset[i], out.tokens[i], out.place[i]])
  })
  return { stretches, notices, trained: opened.trained, kept: 'path' in (opened.rows as MegatronData).tables }
}

it('the same rows, made once, and anew when the file or the order is another', async () => {
  const before = process.env.MILLRACE_CACHE
  process.env.MILLRACE_CACHE = cache
  try {
    writeMegatron(folder, 'web', documentsOf([30, 0, 50, 12, 9, 40]))
    const plain = await rowsOf(1e9)
    expect(plain.kept).toBe(false)
    const kept = () => readdirSync(join(cache, 'index')).filter(name => !name.endsWith('.lock'))
    const first = await rowsOf(1)
    expect(first).toEqual({ ...plain, kept: true })
    expect(kept()).toHaveLength(1)
    expect(await rowsOf(1)).toEqual(first)
    expect(kept()).toHaveLength(1)
    expect((await rowsOf(1, { seed: 8 })).stretches).not.toEqual(first.stretches)
    expect(kept()).toHaveLength(2)
    // A file that changed.
    utimesSync(join(folder, 'web.bin'), 1, 1)
    expect(await rowsOf(1)).toEqual(first)
    expect(kept()).toHaveLength(3)
    // Another file of the same size and time of change.
    const again = (lengths: number[]) => {
      writeMegatron(folder, 'web', documentsOf(lengths))
      for (const ending of ['bin', 'idx']) utimesSync(join(folder, `web.${ending}`), 1, 1)
      return rowsOf(1)
    }
    expect(await again([30, 0, 50, 12, 9, 40])).toEqual(first)
    expect((await again([30, 0, 12, 50, 9, 40])).stretches).not.toEqual(first.stretches)
    expect(await again([30, 0, 50, 12, 9, 40])).toEqual(first)
    // Tables that are cut off are made anew.
    for (const name of kept()) truncateSync(join(cache, 'index', name), 200)
    expect((await rowsOf(1)).stretches).toEqual(first.stretches)
  } finally {
    if (before === undefined) delete process.env.MILLRACE_CACHE
    else process.env.MILLRACE_CACHE = before
  }
})
