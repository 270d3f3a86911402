/** Python processes that die, hang or are left alone: what becomes of their rows, and that none of them stays. */
import { spawn } from 'node:child_process'
import { existsSync, fstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loopIds, MILLRACE, open, using } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import {
  counted,
  labels,
  PythonModule,
  simple,
  withoutPython,
  withPython,
} from '../../../../../test/support/python.js'
import { until } from '../../../../../test/support/until.js'

const CODE = `
import os, signal, time

class Deadly:
    """Dies at one row: every time, or only the first time."""
    def __init__(self, row, once=None): self.row, self.once = row, once
    def __getitem__(self, i):
        if i == self.row and not (self.once and os.path.exists(self.once)):
            if self.once: open(self.once, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return i,

class Slow:
    def __getitem__(self, i): time.sleep(60)

class Endless:
    """Never finishes loading."""
    def __getstate__(self): return {"some": "thing"}
    def __setstate__(self, state): time.sleep(600)
    def __getitem__(self, i): return i,

def deadly(value, rng):
    if value == 5: os._exit(3)
    return value
`

describe.skipIf(withoutPython)('Python processes', () => {
  const module = withoutPython ? (undefined as never) : new PythonModule(CODE)

  test('what killed a process once is made by another', async () => {
    const once = JSON.stringify(join(temporaryFolder(), 'died'))
    expect(await labels(simple(module.dataset(`Deadly(11, ${once})`, 40)), { workers: 2 })).toEqual(
      counted(40),
    )
  })

  test('what kills two is an error of that sample', async () => {
    const source = module.dataset('Deadly(11)', 40)
    await expect(labels(simple(source), { workers: 2 })).rejects.toThrow(
      /sample 11: read failed: it ended 2 Python processes.*SIGKILL/,
    )
    const rest = counted(40).filter(i => i !== 11)
    for (const workers of [0, 1, 3]) {
      expect(await labels(simple(source, { onError: 'drop' }), { workers })).toEqual(rest)
    }
  })

  test('a function that kills it, too', async () => {
    const map = module.call('deadly')
    const json = simple(module.dataset('Deadly(-1)', 16), {
      fields: { label: { from: '0', as: 'int', map } },
    })
    await expect(labels(json, { workers: 1 })).rejects.toThrow(
      /sample 5: map of field "label" failed: it ended 2 Python processes.*code 3/,
    )
    expect(await labels({ ...json, onError: 'drop' }, { workers: 2 })).toEqual(
      counted(16).filter(i => i !== 5),
    )
  })

  test('a sample that hangs ends the run by its name, and its process is gone', async () => {
    const before = children(process.pid)
    await expect(labels(simple(module.dataset('Slow()', 4)), { workers: 1, timeout: 1 })).rejects.toThrow(
      /sample 0 has taken/,
    )
    expect(children(process.pid)).toEqual(before)
  })

  test('a dataset that never finishes loading ends the run, and its process is gone', async () => {
    const before = children(process.pid)
    const endless = simple(module.dataset('Endless()', 4))
    await expect(labels(endless, { workers: 1, timeout: 0.2 })).rejects.toThrow(
      /a worker has been loading the dataset or the functions of this feed for \d+ s/,
    )
    expect(children(process.pid)).toEqual(before)
  })

  test('kill -9 of the engine leaves no process, however busy', async () => {
    const json = simple(module.dataset('Slow()', 40))
    const program = join(temporaryFolder(), 'train.mjs')
    writeFileSync(
      program,
      `import { open } from ${JSON.stringify(MILLRACE)}
       for await (const _ of open(${JSON.stringify(json)}, ${JSON.stringify({ ...withPython, workers: 2 })})) {}`,
    )
    const trainer = spawn(process.execPath, [program], { stdio: 'inherit' })
    await until(() => children(trainer.pid!).length === 2)
    const pids = children(trainer.pid!)
    trainer.kill('SIGKILL')
    await until(() => pids.every(pid => !existsSync(`/proc/${pid}`)))
  })

  test('closing a feed ends the makers that are stuck in it, and other feeds go on', async () => {
    const fast = simple(module.dataset('Deadly(-1)', 4000))
    const before = children(process.pid)
    await using(fast, { ...withPython, workers: 2 }, async loader => {
      const steps = loader[Symbol.asyncIterator]()
      const got: number[] = []
      for (let round = 0; round < 2; round++) {
        const stuck = open(simple(module.dataset('Slow()', 40)), { ...withPython, workers: 2 })
        await stuck.ready
        await until(() => children(process.pid).length >= before.length + 2)
        await stuck.close()
        expect(fstatSync(0)).toBeDefined() // nobody closed what was not theirs
        for (let i = 0; i < 20; i++) {
          const { value } = await steps.next()
          got.push(...Array.from(value?.get('label') as BigInt64Array, Number))
        }
      }
      expect(got).toEqual(counted(320))
    })
    expect(children(process.pid)).toEqual(before)
  })

  test('closing leaves no process and no descriptor', async () => {
    const before = children(process.pid)
    const json = simple(module.dataset('Deadly(-1)', 40))
    const descriptors: number[] = []
    for (let round = 0; round < 3; round++) {
      await using(json, { ...withPython, workers: 2 }, async loader => {
        await loopIds(loader, 1)
        await until(() => children(process.pid).length === before.length + 2)
      })
      expect(children(process.pid)).toEqual(before)
      descriptors.push(readdirSync('/proc/self/fd').length)
    }
    expect(descriptors[2]).toBeLessThanOrEqual(descriptors[1])
  })
})

/** Processes whose parent is this one, zombies as well. */
function children(pid: number): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(child => {
      try {
        const stat = readFileSync(`/proc/${child}/stat`, 'latin1')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid
      } catch {
        return false // gone meanwhile
      }
    })
}
