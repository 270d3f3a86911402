/** A running trainer that is looked at from another process: real ones, in processes of their own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { withoutPython } from '../../../../test/support/python.js'
import { until as become, LONGEST_WAIT } from '../../../../test/support/until.js'
import { diagnoseLive as diagnose } from '../../diagnose/api.js'
import { findRun } from '../../diagnose/attach/find-run.js'
import { type DiagnoseLiveOptions, diagnoseLive } from '../../diagnose/attach/live.js'
import { otherRanks } from '../../diagnose/attach/other-ranks.js'
import type { Findings } from '../../diagnose/findings.js'

const dist = new URL('../../../../dist/index.js', import.meta.url).href
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
  steps: 30,
  seconds: 1,
  progress: () => {},
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

  test('is divided by what a step takes without workers, where that is given', async () => {
    const { pid } = await shared()
    const found = await seen(pid, { ...quick, stepMs: 0.5 }, ({ recorded }) => recorded.steps.length > 0)
    expect(found.account).toMatchObject({ idealFrom: 'given', idealMs: 0.5 })
  })

  test('options that are gone are told in a warning', async () => {
    const said: string[] = []
    const listen = ({ name, message }: Error) => name === 'MillraceNotice' && said.push(message)
    process.on('warning', listen)
    const options = { control: true, apply: true } as Partial<DiagnoseLiveOptions>
    await expect(diagnose(2 ** 22 + 1, options)).rejects.toThrow('there is no process')
    await new Promise(resolve => setImmediate(resolve))
    process.off('warning', listen)
    expect(said).toEqual([
      expect.stringMatching(/^apply has no effect any more: /),
      expect.stringMatching(/^control has no effect any more: /),
    ])
  })

  test('that ends while it is looked at is told', async () => {
    const { pid, child } = await trainer()
    const progress = (_: string, steps: number) => steps > 0 && child.kill('SIGKILL')
    const found = diagnoseLive(pid, { ...quick, steps: 1_000_000_000, seconds: 600, progress })
    await expect(found).rejects.toThrow('has ended while it was looked at')
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
  test('is found from its own process and from its engine’s', async () => {
    const script = join(import.meta.dirname, 'trainer.py')
    const folder = temporaryFolder()
    const env = {
      ...process.env,
      PYTHONPATH: join(import.meta.dirname, '../../../../python'),
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
      quick,
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
