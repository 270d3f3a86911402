/** A running trainer that is looked at, and controlled, from another process: real ones, in processes of their own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { Controller } from '../../src/diagnose/attach/controller.js'
import { findRun } from '../../src/diagnose/attach/find-run.js'
import { type DiagnoseLiveOptions, diagnoseLive } from '../../src/diagnose/attach/live.js'
import { otherRanks } from '../../src/diagnose/attach/other-ranks.js'
import type { Findings } from '../../src/diagnose/findings.js'
import { monotonicMs } from '../../src/spans/clock.js'
import { temporaryFolder } from '../support/folder.js'
import { withoutPython } from '../support/python.js'
import { until as become, LONGEST_WAIT } from '../support/until.js'

const dist = new URL('../../dist/index.js', import.meta.url).href
const children: ChildProcess[] = []
afterEach(() => endAll(children))

async function endAll(list: ChildProcess[]): Promise<void> {
  for (const child of list.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await new Promise(resolve => child.once('close', resolve))
  }
}

interface Said {
  steps: number
  workers: number
  depth: number
}

/** A trainer, and what it says of itself. */
async function trainer(options: object = {}, { list = children, env = {} } = {}) {
  const script = join(import.meta.dirname, 'trainer.mjs')
  const child = spawn(process.execPath, [script, dist, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  list.push(child)
  let said: Said | undefined
  const lines = createInterface({ input: child.stdout! })
  lines.on('line', line => {
    said = JSON.parse(line)
  })
  const until = async (holds: (said: Said) => boolean): Promise<Said> => {
    await become(() => {
      if (child.exitCode !== null) throw new Error('the trainer has ended')
      return said !== undefined && holds(said)
    })
    return said!
  }
  await until(({ steps }) => steps > 5)
  return { child, pid: child.pid!, until, now: () => said! }
}

/** One that several tests look at; each leaves it as it was. */
const lasting: ChildProcess[] = []
let started: ReturnType<typeof trainer> | undefined
const shared = () => {
  started ??= trainer({}, { list: lasting })
  return started
}
afterAll(() => endAll(lasting))

const quick: DiagnoseLiveOptions = {
  ...{ steps: 30, seconds: 1, control: false, apply: false, progress: () => {} },
}

/** Looks again until enough was seen: a machine may have stood still for the second that a look takes. */
async function seen(pid: number, options: DiagnoseLiveOptions, enough: (found: Findings) => boolean) {
  for (const end = performance.now() + LONGEST_WAIT; ; ) {
    const found = await diagnoseLive(pid, options).catch((error: Error) => error)
    if (!(found instanceof Error) && enough(found)) return found
    if (found instanceof Error && !/took no batch/.test(found.message)) throw found
    if (performance.now() > end) throw new Error(`it was never seen: ${found}`)
  }
}

describe('a running trainer', () => {
  test('is looked at without being changed', async () => {
    const { pid, now } = await shared()
    const found = await seen(pid, quick, ({ recorded }) => recorded.steps.length > 0)
    expect(found.recorded.facts).toMatchObject({ workers: 1, depth: 4, rows: 10 })
    expect(Object.values(found.parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(1, 6)
    expect(found.account.idealFrom).toBe('upper')
    expect(found.recorded.probes.doubled).toBeUndefined()
    expect(now()).toMatchObject({ workers: 1, depth: 4 })
  })

  test('with control, its workers are held while batches are used up', async () => {
    const { pid, until } = await trainer({ depth: 8 })
    const found = await seen(pid, { ...quick, control: true }, () => true)
    // On a machine that is too busy the ring may never have been full.
    expect(['held', 'upper']).toContain(found.account.idealFrom)
    const { steps } = await until(() => true)
    await until(said => said.steps > steps + 10) // it goes on
  })

  test('by control, workers and depth are set', async () => {
    const { pid, until } = await shared()
    const run = findRun(pid)
    const controller = Controller.open(run.engine.pid, run.engine.ring)
    try {
      expect(await controller.ask({ workers: 2, depth: 6 })).toMatchObject({ workers: 2, depth: 6 })
      await until(({ workers, depth }) => workers === 2 && depth === 6)
      expect(await controller.ask({ workers: 1, depth: 4 })).toMatchObject({ workers: 1, depth: 4 })
      await expect(controller.ask({ workers: 257 })).rejects.toThrow('so many workers')
      await expect(controller.ask({ depth: 33 })).rejects.toThrow('maxDepth')
      await expect(controller.ask({ restUntil: monotonicMs() + 60_000 })).rejects.toThrow('can’t rest')
      await expect(controller.ask({ restUntil: Number.NaN })).rejects.toThrow('can’t rest')
      await until(({ workers, depth }) => workers === 1 && depth === 4) // what was refused changed nothing
    } finally {
      controller.close()
      run.close()
    }
  })

  test('a rest ends by itself, whatever becomes of the process that asked', async () => {
    const { pid, until } = await shared()
    const run = findRun(pid)
    const controller = Controller.open(run.engine.pid, run.engine.ring)
    await controller.ask({ restUntil: monotonicMs() + 600 })
    controller.close()
    run.close()
    const { steps } = await until(() => true)
    // More than a full ring has: they were made after the rest.
    await until(said => said.steps > steps + 50)
  })

  test('what a process has set is set back when it is killed, and others may ask then', async () => {
    const { pid, until, now } = await shared()
    const asker = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    children.push(asker)
    const run = findRun(pid)
    const controller = Controller.open(pid, run.engine.ring)
    const words = {
      sequence: 1009,
      asker: asker.pid!,
      ring: run.engine.ring,
      workers: 2,
      depth: 6,
      restUntil: 0,
    }
    const { requestBytes, REQUEST_AT } = await import('../../src/engine/control/words.js')
    const { writeSync } = await import('node:fs')
    writeSync((controller as unknown as { fd: number }).fd, requestBytes(words), 0, undefined, REQUEST_AT)
    await until(({ workers, depth }) => workers === 2 && depth === 6)
    expect(() => Controller.open(pid, run.engine.ring)).toThrow(`process ${asker.pid} controls`)
    asker.kill('SIGKILL')
    await until(({ workers, depth }) => workers === 1 && depth === 4)
    // A request of a process that is gone is never carried out: it could not be set back.
    const late = { ...words, sequence: 1010 }
    writeSync((controller as unknown as { fd: number }).fd, requestBytes(late), 0, undefined, REQUEST_AT)
    const { steps } = await until(() => true)
    await until(said => said.steps > steps + 50)
    expect(now()).toMatchObject({ workers: 1, depth: 4 })
    Controller.open(pid, run.engine.ring).close()
    controller.close()
    run.close()
  })

  test('one process controls it at a time', async () => {
    const { pid } = await shared()
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    children.push(other)
    const run = findRun(pid)
    const controller = Controller.open(pid, run.engine.ring)
    const words = {
      sequence: 2007,
      asker: other.pid!,
      ring: run.engine.ring,
      workers: 0,
      depth: 0,
      restUntil: 0,
    }
    const { requestBytes, REQUEST_AT } = await import('../../src/engine/control/words.js')
    const { writeSync } = await import('node:fs')
    writeSync((controller as unknown as { fd: number }).fd, requestBytes(words), 0, undefined, REQUEST_AT)
    expect(() => Controller.open(pid, run.engine.ring)).toThrow(`process ${other.pid} controls`)
    controller.close()
    run.close()
  })

  test('that ends while it is looked at is told', async () => {
    const { pid, child } = await trainer()
    const progress = (_: string, steps: number) => steps > 0 && child.kill('SIGKILL')
    const found = diagnoseLive(pid, { ...quick, steps: 1_000_000_000, seconds: 600, progress })
    await expect(found).rejects.toThrow('has ended while it was looked at')
  })

  test('that ends during experiments has been seen all the same', async () => {
    const { pid, child } = await trainer({ depth: 8 })
    const progress = (what: string) => {
      if (what === 'experiments') child.kill('SIGKILL')
    }
    const found = await seen(pid, { ...quick, control: true, progress }, () => true)
    expect(found.unfinished).toMatch(/has ended/)
    expect(found.account.steps).toBeGreaterThan(0)
  })
})

describe('ranks of a run', () => {
  test('are found in one process; those of another run with the same feed are not taken for them', async () => {
    const { pid } = await trainer({ ranks: 2 }, { env: { MASTER_PORT: '1' } })
    const others = (ring: string) => {
      const run = findRun(pid, ring)
      const found = otherRanks(run)
      const seen = found.map(({ trainer }) => [trainer.pid, trainer.ring.rank])
      for (const other of [...found, run]) other.close()
      return seen
    }
    expect(others('1')).toEqual([[pid, 1]])
    await trainer({ ranks: 2 }, { env: { MASTER_PORT: '2' } })
    expect(others('1')).toEqual([[pid, 1]])
    expect(others('2')).toEqual([[pid, 0]])
  })
})

describe.skipIf(withoutPython)('a trainer in Python', () => {
  test('is found from its own process and from its engine’s, and its workers are controlled', async () => {
    const script = join(import.meta.dirname, 'trainer.py')
    const folder = temporaryFolder()
    const env = {
      ...process.env,
      PYTHONPATH: join(import.meta.dirname, '../../python'),
      XDG_RUNTIME_DIR: folder,
    }
    const child = spawn('python3', [script], { stdio: ['ignore', 'pipe', 'inherit'], env })
    children.push(child)
    await new Promise((resolve, reject) => {
      child.stdout!.once('data', resolve)
      child.once('close', () => reject(new Error('it has ended')))
    })
    const run = findRun(child.pid!)
    const engine = run.engine.pid
    expect(engine).not.toBe(child.pid)
    const again = findRun(engine)
    expect(again.trainer.pid).toBe(child.pid)
    expect(again.engine.ring).toBe(run.engine.ring)
    again.close()
    run.close()
    const found = await seen(
      engine,
      { ...quick, control: true },
      ({ recorded }) => recorded.steps.length > 0 && recorded.makers.length > 0,
    )
    expect(found.recorded.facts).toMatchObject({ rows: 10 })
    expect(Object.values(found.parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(1, 6)
  })
})

describe('a process that can’t be looked at', () => {
  test('is told', async () => {
    await expect(diagnoseLive(2 ** 22 + 1, quick)).rejects.toThrow('there is no process')
    const idle = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    children.push(idle)
    await expect(diagnoseLive(idle.pid!, quick)).rejects.toThrow('has no feed of Millrace open')
  })

  test('a feed by a name that there is not', async () => {
    const { pid } = await shared()
    await expect(diagnoseLive(pid, { ...quick, ring: 'cats' })).rejects.toThrow('has no open feed "cats"')
  })
})
