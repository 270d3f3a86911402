/** Each workload, small, in a process of its own; and the search for the most accelerators. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Measurement } from '../../../src/bench/workloads/measure.js'
import { mostAccelerators } from '../../../src/bench/workloads/most.js'
import { temporaryFolder } from '../../support/folder.js'

const script = join(import.meta.dirname, '../../../bench/dlio/workload.mjs')

function run(options: object) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [script, JSON.stringify({ ...options, data: temporaryFolder() }), '--text'],
    { encoding: 'utf8' },
  )
  expect(status, stderr).toBe(0)
  return { json: JSON.parse(stdout), text: stderr }
}

describe('a workload', () => {
  test.each([
    { workload: 'unet3d', scale: '1/512', files: 56, steps: 12 },
    { workload: 'resnet50', accelerator: 'a100', scale: '1/64', files: 2, steps: 6 },
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

  test('that is none, or has too little data, says so', () => {
    const fails = (options: object) =>
      spawnSync(process.execPath, [script, JSON.stringify({ data: temporaryFolder(), ...options })], {
        encoding: 'utf8',
      })
    expect(fails({ workload: 'bert' }).stderr).toContain('there is no "bert"')
    expect(fails({ workload: 'cosmoflow', files: 3, accelerators: '2' }).stderr).toContain('too few')
  })
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
