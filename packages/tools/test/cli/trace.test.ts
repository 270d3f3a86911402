/** Traces of real runs: three workers, a trainer in Node and in Python, also after kill -9. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { withoutPython } from '../../../../test/support/python.js'
import { until } from '../../../../test/support/until.js'
import { findRun } from '../../../observe/diagnose/attach/find-run.js'
import { type CheckedTrace, checkTrace } from '../../../observe/test/trace-check.js'
import { descendants } from '../../../observe/trace/processes.js'
import { tellFailure, traceLine } from '../../cli/verbs/trace/file.js'
import type * as Recorded from '../../cli/verbs/trace/recorded.js'
import { CLI, millrace } from '../prepare/helpers.js'

const folder = temporaryFolder()
const FEED = {
  source: { synthetic: { count: 640, images: { width: 64, height: 64 } } },
  fields: {
    image: { from: 'jpg', as: 'image', apply: [{ randomResizedCrop: { size: 48 } }] },
    label: { from: 'cls', as: 'int' },
  },
  order: { shuffle: 'global', seed: 1 },
  batch: 16,
}

const INDEX = join(CLI, '../../index.js')
const commandOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8')

const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL')
})

function begin(program: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  const begun = { child, said: '', ended: once(child, 'close') }
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (begun.said += data))
  return begun
}

const threadsOf = ({ threads }: CheckedTrace) => [...new Set([...threads.values()])].sort()
const named = ({ slices }: CheckedTrace, name: string) => slices.filter(slice => slice.name === name)

/** Arrows lead from work of workers to steps of the trainer. */
function expectArrows({ flows }: CheckedTrace) {
  expect(flows.length).toBeGreaterThan(0)
  for (const flow of flows) {
    expect(flow[0].cat).toBe('data')
    expect(flow.at(-1)!.name).toBe('step')
  }
}

describe('run --trace', () => {
  it('writes what workers and trainer did', async () => {
    const out = join(folder, 'run.json.gz')
    const { code, stdout } = await millrace(
      ...['run', JSON.stringify(FEED), '--workers', '3', '--step-ms', '8', '--trace', out],
    )
    expect(code).toBe(0)
    expect(stdout).toContain(`trace: ${out} (drop it on ui.perfetto.dev)`)
    const trace = checkTrace(readFileSync(out))
    // One that starts late may find all batches made.
    const threads = threadsOf(trace)
    expect(threads).toContain('trainer 0')
    expect(threads.filter(name => /^worker [0-2]$/.test(name)).length).toBeGreaterThan(0)
    const steps = named(trace, 'step').reduce((sum, { args }) => sum + Number(args.joined ?? 1), 0)
    expect(steps).toBe(40)
    expect(named(trace, 'preprocess.decode').length).toBeGreaterThan(0)
    expectArrows(trace)
    expect([...trace.counters.keys()].join()).toMatch(/batches ready.*memory|memory.*batches ready/)
  })

  it('leaves all up to the kill, and an ended file', async () => {
    const out = join(folder, 'killed.json')
    const { child } = begin(process.execPath, [
      ...[
        CLI,
        'run',
        JSON.stringify(FEED),
        '--workers',
        '3',
        '--step-ms',
        '8',
        '--epochs',
        '100000',
        '--trace',
        out,
      ],
    ])
    await until(
      () => child.exitCode !== null || (existsSync(out) && readFileSync(out, 'utf8').includes('"ph":"f"')),
    )
    child.kill('SIGKILL')
    await once(child, 'close')
    await until(() => readFileSync(out, 'utf8').endsWith(']\n'))
    expectArrows(checkTrace(readFileSync(out)))
  })

  it('marks the next epoch of a run that goes on within one', async () => {
    const out = join(folder, 'resumed.json')
    const where = ['--position', '480', '--steps', '30', '--workers', '1']
    expect(await millrace('run', JSON.stringify(FEED), ...where, '--trace', out)).toMatchObject({ code: 0 })
    const { instants } = checkTrace(readFileSync(out))
    expect(instants.filter(({ name }) => name === 'epoch').map(({ args }) => args)).toMatchObject([
      { batch: 10, epoch: 1 },
    ])
    const [feed] = instants.filter(({ name }) => name === 'feed')
    expect(feed.args).toMatchObject({ workers: 1, rows: 16, stepsInEpoch: 40 })
  })

  it('ends at --trace-limit, and the run goes on', async () => {
    const out = join(folder, 'limited.json')
    const limit = 65_536
    const words = ['--workers', '2', '--steps', '3000']
    const { code, stdout } = await millrace(
      ...['run', JSON.stringify(FEED), ...words, '--trace', out, '--trace-limit', '64KiB'],
    )
    expect([code, stdout]).toEqual([0, expect.stringContaining('it ended at --trace-limit')])
    expect(stdout).toContain('3,000 steps')
    const bytes = readFileSync(out)
    expect(bytes.length).toBeLessThanOrEqual(limit)
    expect(checkTrace(bytes).slices.length).toBeGreaterThan(50)
    for (const [given, said] of [
      [['--trace', out, '--trace-limit', '10'], 'from 65536 bytes on'],
      [['--trace-limit', '1MiB'], 'give --trace FILE'],
    ] as const) {
      const refused = await millrace('run', JSON.stringify(FEED), ...given)
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(said)])
    }
  })

  it('is written over no file but a trace', async () => {
    const [feed, link, other] = ['own.json', 'own-link.json', 'other.json'].map(name => join(folder, name))
    writeFileSync(feed, JSON.stringify(FEED))
    symlinkSync(feed, link)
    writeFileSync(other, '{"mine":1}')
    for (const [given, code, said] of [
      [['run', feed, '--trace', feed], 2, 'is the same file as the feed'],
      [['run', feed, '--trace', link], 2, 'is the same file as the feed'],
      [['run', `${feed}#val`, '--trace', feed], 2, 'is the same file as the feed'],
      [['run', feed, '--save', join(folder, 's.json'), '--trace', join(folder, 's.json')], 2, 'as --save'],
      [['run', feed, '--trace', other], 1, 'is no trace: remove it, or choose another name'],
      [['demo', '--trace', other], 1, 'is no trace'],
      [['trace', 'record', String(process.pid), '--out', other], 1, 'is no trace'],
    ] as const) {
      const refused = await millrace(...given)
      expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(said)])
    }
    expect(JSON.parse(readFileSync(feed, 'utf8'))).toEqual(FEED)
    expect(readFileSync(other, 'utf8')).toBe('{"mine":1}')
    const out = join(folder, 'again.pfw')
    for (let i = 0; i < 2; i++) {
      const { code, stdout } = await millrace('run', feed, '--steps', '5', '--trace', out, '--json')
      expect([code, JSON.parse(stdout).trace]).toEqual([0, { file: out, lost: 0, full: false }])
    }
    const { stdout } = await millrace('run', feed, '--steps', '5', '--trace', out)
    expect(stdout.trimEnd().endsWith(`trace: ${out}`)).toBe(true)
    // DFTracer's form: a bracket, and an event a line.
    const [first, ...lines] = readFileSync(out, 'utf8').trimEnd().split('\n')
    expect([first, lines.pop()]).toEqual(['[', ']'])
    const events = lines.map(
      line => JSON.parse(line) as { name: string; ph: string; ts: number; dur: number },
    )
    expect(
      events.filter(({ name, ph, ts, dur }) => name === 'step' && ph === 'X' && ts > 1e15 && dur >= 0).length,
    ).toBeGreaterThan(0)
  })

  it('has the loops of a program apart, also without workers', async () => {
    const out = join(folder, 'loops.json')
    // The first line begins it, so that the recorder is there; it ends when there are no more.
    const script = `const { once } = await import('node:events')
const { open } = await import(${JSON.stringify(INDEX)})
await once(process.stdin, 'data')
for (const workers of [0, 1, 1]) {
  const loader = open(${JSON.stringify(FEED)}, { workers, steps: 30 })
  for await (const batch of loader) void batch
  await loader.close()
}
await once(process.stdin, 'end')`
    const words = ['--input-type=module', '-e', script]
    const trainer = spawn(process.execPath, words, { stdio: ['pipe', 'ignore', 'inherit'] })
    children.push(trainer)
    const recorder = begin(process.execPath, [...[CLI, 'trace', 'record', String(trainer.pid), '--out', out]])
    const over = () => recorder.child.exitCode !== null
    await until(() => recorder.said.includes('waiting until') || over())
    trainer.stdin.write('begin\n')
    await until(() => over() || readFileSync(out, 'utf8').includes('"name":"step"'))
    trainer.stdin.end()
    expect(await recorder.ended).toEqual([0, null])
    const steps = named(checkTrace(readFileSync(out)), 'step')
    expect(steps.reduce((sum, { args }) => sum + Number(args.joined ?? 1), 0)).toBe(90)
  })

  it('that could not be written to its end does not cost the result of the run', async () => {
    const out = join(folder, 'dies.json')
    // Its recorder is a process of the command line, as it is built.
    const built = join(CLI, '../../../build')
    await import(join(built, 'all/registry.js'))
    const { recordTrace } = (await import(
      join(built, 'tools/cli/verbs/trace/recorded.js')
    )) as typeof Recorded
    const recorded = await recordTrace(out)
    const [recorder] = descendants(new Set([process.pid])).filter(pid => commandOf(pid).includes(out))
    process.kill(recorder, 'SIGKILL')
    const ended = await recorded.end()
    expect(ended).toEqual({ file: out, full: false, lost: 0, failed: 'its recorder was killed (SIGKILL)' })
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    expect([tellFailure(ended), tellFailure({ ...ended, failed: undefined })]).toEqual([1, 0])
    expect(said.mock.calls.flat().join()).toMatch(/dies\.json is not whole: its recorder was killed/)
    said.mockRestore()
    expect(traceLine(ended)).toBe('')
  })

  it('of a process that opens no feed is none: it is waited for, and then said why', async () => {
    const out = join(folder, 'nothing.json')
    const sleeper = begin(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'])
    const recorder = begin(process.execPath, [
      ...[CLI, 'trace', 'record', String(sleeper.child.pid), '--out', out],
    ])
    await until(() => recorder.said.includes('waiting until process') || recorder.child.exitCode !== null)
    sleeper.child.kill('SIGKILL')
    expect(await recorder.ended).toEqual([1, null])
    expect(recorder.said).toMatch(/nothing was recorded: process \d+ opened no feed.*MILLRACE_SPANS=0/)
  })

  it('says why it has none', async () => {
    const env = { MILLRACE_SPANS: '0' }
    const off = begin(
      process.execPath,
      [CLI, 'run', JSON.stringify(FEED), '--trace', join(folder, 'x.json')],
      env,
    )
    await off.ended
    expect(off.said).toContain('MILLRACE_SPANS=0')
    const { code, stderr } = await millrace('trace', 'record', '999999999', '--out', join(folder, 'y.json'))
    expect([code, stderr]).toEqual([1, expect.stringContaining('there is no process 999999999')])
    expect(stderr).toMatch(/no process on this machine has a feed open|these have a feed open: \d/)
    expect(existsSync(join(folder, 'y.json'))).toBe(false)
    const named = await millrace('run', JSON.stringify(FEED), '--trace', join(folder, 'z.txt'))
    expect([named.code, named.stderr]).toEqual([2, expect.stringContaining('--trace ends in .json')])
  })
})

describe.skipIf(withoutPython)('trace record of a trainer in Python', () => {
  const TRAINER = `import json, sys, time, millrace
with millrace.Feed(json.loads(sys.argv[1]), workers=3, epochs=None) as feed:
    for batch in feed:
        time.sleep(0.008)
        print(".", end="", flush=True)`

  it.each(['SIGINT', 'SIGKILL'] as const)(
    'has the engine’s workers and the trainer, up to %s',
    async signal => {
      const out = join(folder, `${signal}.json.gz`)
      const env = { PYTHONPATH: join(import.meta.dirname, '../../../../python') }
      const trainer = begin('python3', ['-c', TRAINER, JSON.stringify(FEED)], env)
      const recorder = begin(process.execPath, [
        CLI,
        'trace',
        'record',
        String(trainer.child.pid),
        '--out',
        out,
      ])
      const over = () => trainer.child.exitCode !== null || recorder.child.exitCode !== null
      await until(() => recorder.said.includes(', ') || over()) // the trainer's process, and the engine's
      const run = findRun(trainer.child.pid!)
      const wrote = () =>
        run.engine.spans.lanes().filter(({ kind, written }) => kind === 'worker' && written > 0)
      await until(() => wrote().length === 3 || over())
      run.close()
      const before = trainer.said.length
      await until(() => trainer.said.length > before + 60 || over())
      if (signal === 'SIGINT') recorder.child.kill(signal)
      else trainer.child.kill(signal)
      expect(await recorder.ended).toEqual([0, null])
      trainer.child.kill('SIGKILL')
      await trainer.ended
      const trace = checkTrace(readFileSync(out))
      expect(trace.processes.size).toBe(2)
      expect(threadsOf(trace)).toEqual(
        expect.arrayContaining(['worker 0', 'worker 1', 'worker 2', 'trainer 0']),
      )
      expect(trace.processes.get(trainer.child.pid!)).toMatch(/^python3/)
      expectArrows(trace)
      // The arrows cross from the engine's process to the trainer's.
      for (const flow of trace.flows) expect(flow.at(-1)!.pid).toBe(trainer.child.pid)
      for (const flow of trace.flows) expect(flow[0].pid).not.toBe(trainer.child.pid)
    },
  )
})
