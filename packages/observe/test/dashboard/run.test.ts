/** The dashboard and real runs: trainers in processes of their own, the command line, and processes that are killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { withoutPython } from '../../../../test/support/python.js'
import { LONGEST_WAIT, until } from '../../../../test/support/until.js'
import { Dashboard, type DashboardOptions } from '../../dashboard/dashboard.js'
import { Logs } from '../../dashboard/run/logs.js'
import type { Snapshot } from '../../dashboard/server/requests.js'
import type { Gallery, Timeline } from '../../dashboard/view.js'

const root = join(import.meta.dirname, '../../../..')
const cli = join(root, 'dist/cli/main.js')
const children: ChildProcess[] = []
const dashboards: Dashboard[] = []
afterEach(async () => {
  for (const dashboard of dashboards.splice(0)) dashboard.close()
  for (const child of children.splice(0)) await end(child)
})

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await new Promise(resolve => child.once('close', resolve))
}

/** Other tests run feeds on this machine at the same time: this file has a name that no other one has. */
const numbers = join(temporaryFolder(), `numbers-${process.pid}.txt`)
writeFileSync(numbers, Array.from({ length: 1000 }, (_, i) => `${i}\n`).join(''))

/** A trainer that says what it does. */
async function trainer(options: object = {}) {
  const script = join(root, 'packages/observe/test/dashboard/trainer.mjs')
  const dist = join(root, 'dist/index.js')
  const child = spawn(process.execPath, [script, dist, numbers, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const said = { steps: 0 }
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    const line = text.trim().split('\n').at(-1)
    if (line?.endsWith('}')) Object.assign(said, JSON.parse(line))
  })
  await until(() => said.steps > 5)
  return { child, pid: child.pid! }
}

async function start(more: Partial<DashboardOptions>): Promise<Dashboard> {
  const dashboard = await Dashboard.start({
    price: 2,
    version: '1',
    host: '127.0.0.1',
    port: 0,
    ...more,
  })
  dashboards.push(dashboard)
  return dashboard
}

type Where = { port: number; token: string }

async function get<T>({ port, token }: Where, path: string): Promise<T> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

/** Asks again until it is so. */
async function become<T>(ask: () => Promise<T>, holds: (found: T) => unknown): Promise<T> {
  for (const limit = performance.now() + LONGEST_WAIT; ; ) {
    const found = await ask()
    if (holds(found)) return found
    if (performance.now() > limit)
      throw new Error(`it never came to this: ${JSON.stringify(found).slice(0, 500)}`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

const snapshot = (where: Where) => get<Snapshot>(where, '/api/snapshot')

describe('a run that is attached to', () => {
  test('is shown, second by second', async () => {
    const { pid } = await trainer()
    const dashboard = await start({ attach: pid })
    const { hello, now, history, ended } = await become(
      () => snapshot(dashboard),
      ({ now, history }) => (now?.ranks[0]?.steps ?? 0) > 0 && history.length > 2 && now?.worst,
    )
    expect(hello).toMatchObject({
      dollarsPerHour: 2,
      run: { trainer: pid, engine: pid, world: 1 },
    })
    expect(hello.definition).toMatchObject({ source: { text: numbers }, batch: { size: 10 } })
    expect(hello.fields).toEqual([{ name: 'data', dtype: 'f32', shape: [], kind: 'float' }])
    expect(now!.ranks[0]).toMatchObject({ trainer: pid, rank: 0, workers: 1, depth: 4, bad: 0 })
    expect(now!.ranks[0].slots).toMatchObject({ ready: expect.any(Number), filling: expect.any(Number) })
    expect(now!.worst).toMatchObject({ rank: 0, evidence: { facts: { rows: 10 }, fit: { rows: 10 } } })
    expect(history.at(-1)!.samplesPerSecond).toBeGreaterThan(0)
    expect(ended).toBeNull()
    const timeline = await become(
      () => get<Timeline>(dashboard, '/api/timeline?seconds=3'),
      ({ lanes }) => lanes.length >= 2,
    )
    expect(timeline.lanes.map(({ kind, rank }) => [kind, rank])).toEqual(
      expect.arrayContaining([
        ['consumer', 0],
        ['worker', null],
      ]),
    )
    for (const { spans } of timeline.lanes)
      for (const [start, duration] of spans) expect(start >= 0 && duration >= 0).toBe(true)
    const gallery = await get<Gallery>(dashboard, '/api/gallery?rows=2')
    expect(gallery.rows[0]?.values.data ?? gallery.reason).toMatch(/^\d+$|ready/)
  })

  test('ends, and the next one of the same feed is shown after it', async () => {
    const first = await trainer()
    const dashboard = await start({ attach: first.pid })
    await become(
      () => snapshot(dashboard),
      ({ history }) => history.length > 1,
    )
    first.child.kill('SIGKILL')
    const { ended, now } = await become(
      () => snapshot(dashboard),
      ({ ended }) => ended !== null,
    )
    expect(ended!.reason).toContain('has ended')
    expect(now!.ranks).toHaveLength(1) // what was seen stays
    expect((await get<Gallery>(dashboard, '/api/gallery')).rows).toEqual([])
    const second = await trainer()
    const next = await become(
      () => snapshot(dashboard),
      ({ hello }) => hello.run?.trainer === second.pid,
    )
    expect(next.ended).toBeNull()
    expect(next.history.length).toBeGreaterThan(1) // that of the first, too
  })

  test('is chosen among several', async () => {
    const [first, second] = [await trainer(), await trainer()]
    const dashboard = await start({ attach: first.pid })
    const { hello } = await become(
      () => snapshot(dashboard),
      ({ hello }) => hello.others.length > 0,
    )
    const other = hello.others.find(({ trainer }) => trainer === second.pid)!
    expect(hello.others.some(({ trainer }) => trainer === first.pid)).toBe(false)
    const chosen = (run: string) => get<Snapshot>(dashboard, `/api/snapshot?run=${run}`)
    const none = (await chosen('1:1')).hello
    expect(none).toMatchObject({ run: null, missing: '1:1' })
    expect(none.others.map(({ trainer }) => trainer)).toEqual(expect.arrayContaining([first.pid, second.pid]))
    // Two pages look at two runs.
    const address = `${second.pid}.${other.ring}`
    await become(
      () => chosen(address),
      ({ hello, now }) => hello.run?.trainer === second.pid && hello.missing === null && now,
    )
    expect((await snapshot(dashboard)).hello.run!.trainer).toBe(first.pid)
    expect((await chosen(`${first.pid}:1`)).hello.run!.trainer).toBe(first.pid)
    // One that has ended stays as it was last seen, and does not become the other one of the same feed.
    await end(second.child)
    const { ended, now } = await become(
      () => chosen(address),
      ({ ended }) => ended,
    )
    expect(Date.now() - ended!.time).toBeLessThan(LONGEST_WAIT)
    expect(now!.ranks[0].memory!.bytes).toBeGreaterThan(1e6)
    expect(now!.ranks[0].cores!.trainer + now!.ranks[0].cores!.engine).toBeGreaterThan(0)
    await new Promise(resolve => setTimeout(resolve, 3000))
    expect((await chosen(address)).ended).toEqual(ended)
    expect((await chosen(address)).hello.run!.trainer).toBe(second.pid)
  })

  test('all its ranks are shown', async () => {
    const { pid } = await trainer({ ranks: 2 })
    const dashboard = await start({ attach: pid })
    await become(
      () => snapshot(dashboard),
      ({ now }) => now?.ranks.length === 2,
    )
  })

  test('goes on where its log knows what was before', async () => {
    const log = temporaryFolder()
    const { pid } = await trainer({ log })
    const local = await start({ attach: pid, log })
    await become(
      () => snapshot(local),
      ({ history, recent }) => history.length > 3 && recent.length > 3,
    )
    local.close()
    const later = await start({ attach: pid, log })
    expect((await snapshot(later)).history.length).toBeGreaterThan(2)
  })

  test('of a folder of logs is shown before all others, with its ranks here', async () => {
    const log = temporaryFolder()
    await trainer() // a stranger
    const { child, pid } = await trainer({ log })
    await until(() => new Logs(log).newest())
    const dashboard = await start({ log })
    expect(dashboard.runs.run).toMatchObject({ trainer: pid })
    await become(
      () => snapshot(dashboard),
      ({ now }) => now?.worst,
    )
    dashboard.close()
    await end(child)
    // Killed: its log does not end, and does not go on.
    await until(() => new Logs(log).newest()!.ended)
    const after = await start({ log })
    expect(after.runs).toMatchObject({ run: { trainer: pid }, ended: expect.stringContaining('go on') })
    const { now, history, ended } = await snapshot(after)
    expect(now!.ranks).toHaveLength(1)
    expect(now!.told).toMatchObject({ rank: 0, parts: expect.any(Object) })
    expect(history.length).toBeGreaterThan(1)
    expect(ended!.time).toBeGreaterThanOrEqual(now!.ranks[0].time)
  })
})

describe.skipIf(withoutPython)('a trainer in Python', () => {
  test('is shown with its engine: definition, slots, gallery and timeline of both processes', async () => {
    const env = {
      ...process.env,
      PYTHONPATH: join(root, 'python'),
      XDG_RUNTIME_DIR: temporaryFolder(),
    }
    const child = spawn('python3', [join(root, 'packages/observe/test/diagnose/trainer.py')], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env,
    })
    children.push(child)
    await new Promise((resolve, reject) => {
      child.stdout!.once('data', resolve)
      child.once('close', () => reject(new Error('it has ended')))
    })
    const dashboard = await start({ attach: child.pid! })
    const { hello, now } = await become(
      () => snapshot(dashboard),
      ({ now, hello }) => (now?.ranks[0]?.steps ?? 0) > 0 && hello.definition,
    )
    expect(hello.run!.trainer).toBe(child.pid)
    expect(hello.run!.engine).not.toBe(child.pid)
    expect(hello.fields).toEqual([{ name: 'data', dtype: 'f32', shape: [64], kind: 'npy' }])
    expect(now!.ranks[0].slots).not.toBeNull()
    await become(
      () => get<Gallery>(dashboard, '/api/gallery?rows=1'),
      ({ rows }) => rows[0]?.values.data?.startsWith('[64] '),
    )
    const { lanes } = await become(
      () => get<Timeline>(dashboard, '/api/timeline'),
      ({ lanes }) =>
        lanes.some(({ kind }) => kind === 'worker') && lanes.some(({ kind }) => kind === 'consumer'),
    )
    expect(lanes.find(({ kind }) => kind === 'consumer')!.rank).toBe(0)
    child.kill('SIGKILL')
    await become(
      () => snapshot(dashboard),
      ({ ended }) => ended,
    )
  })
})

test('a process without a feed is named', async () => {
  await expect(start({ attach: process.pid })).rejects.toThrow(`process ${process.pid} has no feed`)
  await expect(start({ log: '/nowhere/at/all' })).rejects.toThrow('folder of run logs')
})

/** The command line: gives what it says as JSON. */
async function dashboardOf(
  ...words: string[]
): Promise<{ child: ChildProcess; said: Where & { run: unknown } }> {
  const child = spawn(process.execPath, [cli, 'dashboard', ...words, '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let [text, errors] = ['', '']
  child.stdout!.setEncoding('utf8').on('data', part => {
    text += part
  })
  child.stderr!.setEncoding('utf8').on('data', part => {
    errors += part
  })
  await until(() => {
    if (child.exitCode !== null) throw new Error(errors)
    return text.endsWith('\n')
  })
  return { child, said: JSON.parse(text) }
}

describe('the command', () => {
  const feed = JSON.stringify({
    source: { synthetic: { count: 100, tensors: { shape: [8], dtype: 'f32' } } },
    fields: { data: { from: 'data', as: 'npy', shape: [8], dtype: 'f32' } },
    batch: 10,
  })

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'runs a feed of its own, which ends with it: %s',
    async signal => {
      const { child, said } = await dashboardOf(feed, '--step-ms', '5', '--workers', '1')
      const { hello } = await become(
        () => snapshot(said),
        ({ history }) => history.length > 1,
      )
      const { trainer } = hello.run!
      expect(existsSync(`/proc/${trainer}`)).toBe(true)
      child.kill(signal)
      await until(() => !existsSync(`/proc/${trainer}`))
    },
  )

  test('the trainer that it looks at may be killed: the page stays', async () => {
    const { pid, child } = await trainer()
    const { child: own, said } = await dashboardOf('--attach', String(pid))
    await become(
      () => snapshot(said),
      ({ now }) => now,
    )
    child.kill('SIGKILL')
    await become(
      () => snapshot(said),
      ({ ended }) => ended,
    )
    expect(own.exitCode).toBeNull()
  })

  test('knows the step of the trainer that it starts', async () => {
    const { said } = await dashboardOf(feed, '--step-ms', '20', '--workers', '1')
    const { now } = await become(
      () => snapshot(said),
      ({ now }) => now?.worst,
    )
    expect(now!.worst!.accounting).toMatchObject({ idealFrom: 'given', idealMs: 20 })
  })

  test.each([
    [['--port', '99999'], '--port wants a number from 0 to 65535'],
    [['--host', ''], '--host wants a name'],
    [['--host', 'no.such.host.invalid'], "can't listen at --host no.such.host.invalid"],
  ])('refuses %j', async (words, message) => {
    const child = spawn(process.execPath, [cli, 'dashboard', ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
    children.push(child)
    let errors = ''
    child.stderr!.setEncoding('utf8').on('data', part => {
      errors += part
    })
    expect(await new Promise(resolve => child.once('close', resolve))).toBeGreaterThan(0)
    expect(errors).toContain(message)
    expect(errors).not.toContain('RangeError')
  })

  test('escapes the name of a run', async () => {
    const { pid } = await trainer({ name: 'run \x1b]0;title\x07 \x9b31m' })
    const words = ['dashboard', '--attach', `${pid}`, '--port', '0']
    const child = spawn(process.execPath, [cli, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    let text = ''
    child.stdout!.setEncoding('utf8').on('data', part => {
      text += part
    })
    await until(() => text.includes('Ctrl-C'))
    expect(text).toContain('It shows "run \\x1b]0;title\\x07 \\x9b31m", process')
  })

  test('says what is wrong with a feed that can’t be run', async () => {
    const file = join(temporaryFolder(), 'bad.json')
    writeFileSync(file, '{"source": {"tar": "none-*.tar"}, "fields": {}, "batch": 1}')
    const failed = await dashboardOf(file).catch((error: Error) => error.message)
    expect(failed).toMatch(/^millrace: .*bad\.json: fields: a feed needs at least one field\s*$/)
  })

  // Only root may become another user; without that there is only one to look at.
  test.skipIf(process.getuid?.() !== 0)('another user sees nothing of it', async () => {
    const { pid } = await trainer()
    const asNobody = (...words: string[]) =>
      new Promise<string>(resolve => {
        const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, cli, ...words]
        const child = spawn('setpriv', nobody, { stdio: ['ignore', 'pipe', 'pipe'] })
        children.push(child)
        let text = ''
        for (const stream of [child.stdout!, child.stderr!])
          stream.setEncoding('utf8').on('data', part => {
            text += part
            if (part.endsWith('\n')) child.kill('SIGKILL')
          })
        child.on('close', () => resolve(text))
      })
    expect(await asNobody('dashboard', '--attach', String(pid), '--port', '0')).toContain('is another user')
    const told = await asNobody('dashboard', '--port', '0', '--json')
    expect(JSON.parse(told)).toMatchObject({ run: null, others: [] })
  })
})
