/** Each workload, small, in a process of its own; and the search for the most accelerators. */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Measurement } from '../../../src/bench/workloads/measure.js'
import { mostAccelerators } from '../../../src/bench/workloads/most.js'
import { stepsOf } from '../../../src/bench/workloads/run.js'
import { bytes } from '../../../src/observe/verdict/units.js'
import { millrace } from '../../prepare/helpers.js'
import { temporaryFolder } from '../../support/folder.js'

const script = join(import.meta.dirname, '../../../bench/dlio/workload.mjs')

function run(options: object, of = script) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [of, JSON.stringify({ ...options, data: temporaryFolder() }), '--text'],
    { encoding: 'utf8' },
  )
  expect(status, stderr).toBe(0)
  return { json: JSON.parse(stdout), text: stderr }
}

describe('a workload', () => {
  test.each([
    { workload: 'unet3d', scale: '1/512', files: 56, steps: 12 },
    { workload: 'resnet50', accelerator: 'a100', scale: '1/64', files: 2, steps: 6 },
    { workload: 'resnet50', scale: '1/64', files: 1, steps: 20 }, // 3 steps an epoch
    { workload: 'cosmoflow', files: 40, steps: 60 },
    { workload: 'retinanet', files: 72, steps: 4 },
    { workload: 'cosmoflow', scale: '1/16', files: 64, steps: 30, accelerators: '3', workers: 1, depth: 2 },
  ])('runs: %o', options => {
    const { json, text } = run(options)
    expect(json.what).toBe('DLIO-style workload, not an MLPerf result')
    expect(text).toContain(json.what)
    expect(json.accelerators).toBe(Number(options.accelerators ?? 1))
    expect(json.steps).toBe(options.steps)
    for (const au of [json.au.dlio, json.au.nominal]) {
      expect(au).toBeGreaterThan(0)
      expect(au).toBeLessThanOrEqual(1.001)
    }
    expect(json.sustained).toBe(json.au.dlio >= json.leastAu)
    expect(json.fraction).toBeCloseTo(json.samplesPerSecond / json.demand.samplesPerSecond)
    expect(json.workers).toBeGreaterThan(0)
    expect(json.cached.before).toBeGreaterThan(0.5)
    expect(Object.values<number>(json.account.parts).reduce((a, b) => a + b)).toBeCloseTo(1)
    expect(json.why).not.toBe('')
  })

  test('has the memory of its own measurement, not of what the process did before', () => {
    const first = join(temporaryFolder(), 'first.mjs')
    writeFileSync(first, `new Uint8Array(1e9).fill(1); await import(${JSON.stringify(script)})`)
    const options = { workload: 'cosmoflow', scale: '1/256', files: 8, steps: 6, workers: 1 }
    const { json } = run(options, first)
    expect(json.peakMemoryBytes).toBeGreaterThan(1e7)
    expect(json.peakMemoryBytes).toBeLessThan(9e8)
  })

  test('keeps the times of its steps where that is asked for: AU can be counted by hand', () => {
    const log = join(temporaryFolder(), 'new', 'steps.jsonl')
    const options = { workload: 'cosmoflow', scale: '1/16', files: 24, steps: 20, accelerators: '2' }
    const { json } = run({ ...options, 'steps-log': log })
    const steps = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(steps).toHaveLength(2 * 20)
    const each = [0, 1].map(rank => {
      const own = steps.filter(one => one.rank === rank)
      const epochs = [...new Set(own.map(({ epoch }) => epoch))].map(epoch => {
        const [first, ...rest] = own.filter(one => one.epoch === epoch)
        const compute = rest.reduce((sum, one) => sum + one.compute, 0)
        return rest.length === 0 ? [] : [compute / (rest.at(-1).done - first.done)]
      })
      const shares = epochs.flat()
      return shares.reduce((sum, one) => sum + one, 0) / shares.length
    })
    expect((each[0] + each[1]) / 2).toBeCloseTo(json.au.dlio, 9)
    expect(steps[0]).toMatchObject({ accelerators: 2, rank: 0, epoch: 0 })
    expect(json.times).toBeUndefined()
  })

  test('asks for as much in the text as in the JSON', () => {
    const { json, text } = run({ workload: 'cosmoflow', scale: '1/16', files: 9, steps: 6 })
    expect(text).toContain(`1 sample every 0.22 ms: ${bytes(json.demand.bytesPerSecond)}/s an accelerator`)
    expect(text).toContain('wanted 70 %')
    expect(text).not.toMatch(/handOver|(?<![\d.,])1 samples/)
  })

  test('with a damaged file says how to get it back', () => {
    const data = temporaryFolder()
    const options = { workload: 'cosmoflow', scale: '1/256', files: 8, steps: 20, data }
    const go = () => spawnSync(process.execPath, [script, JSON.stringify(options)], { encoding: 'utf8' })
    expect(go().status).toBe(0)
    const file = join(data, 'cosmoflow-1of256-seed10', '0000003.tfrecord')
    const bytes = readFileSync(file)
    bytes[bytes.length >> 1] ^= 255
    writeFileSync(file, bytes)
    expect(go().stderr).toContain(`delete it, and the next run writes it again: rm ${file}`)
    rmSync(file)
    expect(go().status).toBe(0)
  })

  test('takes no option that would do nothing, and says with status 2 what is wrong', async () => {
    const told = async (...args: string[]) => {
      const { code, stderr } = await millrace(
        'bench',
        '--workload',
        'cosmoflow',
        ...args,
        '--data',
        temporaryFolder(),
      )
      return `${code} ${stderr}`
    }
    for (const [name, value] of [
      ...[
        ['baseline', 'b'],
        ['fail-if', '5%'],
        ['rounds', '3'],
        ['out', 'x'],
        ['step-ms', '3'],
      ],
      ...[
        ['profile', 'x'],
        ['seconds', '3'],
        ['cache', '1MiB'],
        ['timeout', '60'],
      ],
    ])
      expect(await told(`--${name}`, value)).toMatch(new RegExp(`^2 .*--${name} is for a FEED`))
    expect(await told('--accelerator', 'b200')).toMatch(/^2 .*--accelerator: cosmoflow has no compute time/)
    expect(await told('--scale', '3')).toMatch(/^2 .*--scale: it is a share/)
    expect(await told('--steps', '1')).toMatch(/^2 .*--steps: the first step of an epoch does not count/)
    expect(await told('--files', '3', '--size', '1GB')).toMatch(/^2 .*give one of them/)
    expect(await told('--workload', 'foo')).toMatch(/^2 .*--workload: there is no "foo"/)
    expect(await told('--files', '1', '--scale', '1/256')).toMatch(/^2 .*: 1 record can't give/s)
  })

  test('that is none, or has too little data, says so', () => {
    const fails = (options: object) =>
      spawnSync(process.execPath, [script, JSON.stringify({ data: temporaryFolder(), ...options })], {
        encoding: 'utf8',
      })
    expect(fails({ workload: 'bert' }).stderr).toContain('there is no "bert"')
    expect(fails({ workload: 'cosmoflow', files: 3, accelerators: '2' }).stderr).toContain(
      "3 records can't give",
    )
  })
})

test('a run has the steps or epochs that are given, and otherwise whole epochs of about 30 s', () => {
  // 3 steps an epoch, of 10 ms.
  expect(stepsOf(3, 10, { steps: 30 })).toBe(30)
  expect(stepsOf(3, 10, { epochs: 7 })).toBe(21)
  expect(stepsOf(3, 10, { epochs: 2, steps: 30 })).toBe(6)
  expect(stepsOf(3, 10, { epochs: 20, steps: 30 })).toBe(30)
  expect(stepsOf(3, 10, {})).toBe(15)
  // 1,000 steps an epoch: 10 s each. All that is given is done, however long it takes.
  expect(stepsOf(1000, 10, {})).toBe(3000)
  expect(stepsOf(1000, 10, { epochs: 4 })).toBe(4000)
  expect(stepsOf(1000, 10, { steps: 4500 })).toBe(4500)
  // An epoch of 100 s is cut; 20 steps are the least.
  expect(stepsOf(10_000, 10, {})).toBe(3000)
  expect(stepsOf(100, 10_000, {})).toBe(20)
})

describe('the most accelerators', () => {
  /** A machine that sustains `most` of them. */
  async function found(most: number, possible: number) {
    const measure = async (accelerators: number) =>
      ({ accelerators, sustained: accelerators <= most }) as Measurement
    const { accelerators, tried, stopped } = await mostAccelerators(possible, measure)
    return { accelerators, tried: tried.map(one => one.accelerators), stopped }
  }

  test('are found by doubling, then by halves', async () => {
    expect(await found(5, 100)).toEqual({ accelerators: 5, tried: [1, 2, 4, 8, 6, 5], stopped: undefined })
    expect(await found(0, 100)).toEqual({ accelerators: 0, tried: [1], stopped: undefined })
    expect(await found(1, 100)).toEqual({ accelerators: 1, tried: [1, 2], stopped: undefined })
  })

  test('are as many as the data are enough for, and that is said', async () => {
    const { accelerators, tried, stopped } = await found(100, 6)
    expect([accelerators, tried]).toEqual([6, [1, 2, 4, 6]])
    expect(stopped).toContain('more with --files')
    expect(await found(5, 6)).toEqual({ accelerators: 5, tried: [1, 2, 4, 6, 5], stopped: undefined })
  })
})
