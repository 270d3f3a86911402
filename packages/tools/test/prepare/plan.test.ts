/** The arithmetic of `millrace plan`, and what the verb makes of it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { amount, longTime, parseAmount } from '../../cli/units.js'
import { planRun } from '../../prepare/plan.js'

const SEVEN = { all: 100e9, perStep: 1e6, stepsPerSecond: 0.5, gpus: 64, price: 3, bytes: 2 }

describe('planRun', () => {
  test('a model of 7 B on 100 B tokens, with a feed that gives half of what it needs', () => {
    const { steps, bytesPerSecond, trainer, fed } = planRun({ ...SEVEN, feed: 250e3 })
    expect(steps).toBe(100_000)
    expect(trainer.perSecond).toBe(500e3)
    expect(bytesPerSecond).toBe(1e6)
    expect(trainer.seconds / 86_400).toBeCloseTo(2.3, 1)
    expect(fed!.seconds / 86_400).toBeCloseTo(4.6, 1)
    expect(fed!.busy).toBe(0.5)
    expect(fed!.cost).toBeCloseTo(2 * trainer.cost!, 6)
  })

  test('a feed that gives more than is needed changes nothing', () => {
    const { trainer, fed } = planRun({ ...SEVEN, feed: 1e9 })
    expect(fed).toEqual(trainer)
  })

  test('steps a second follow from the model and the GPUs', () => {
    const { trainer } = planRun({
      ...SEVEN,
      stepsPerSecond: undefined,
      model: { parameters: 7e9, flops: 400e12 },
    })
    expect(trainer.stepsPerSecond).toBeCloseTo((64 * 400e12) / (6 * 7e9 * 1e6), 9)
  })
})

test('amounts are read and written', () => {
  expect(['100B', '1.5M', '65k', '2e9', '7', '1T'].map(parseAmount)).toEqual([
    100e9, 1.5e6, 65e3, 2e9, 7, 1e12,
  ])
  expect(['', '7 GB', 'x', '-1', '1KK'].map(parseAmount)).toEqual(Array(5).fill(undefined))
  expect([100e9, 1.25e6, 999.9e3, 12, 0.5].map(amount)).toEqual(['100 B', '1.25 M', '1.00 M', '12', '0.50'])
  expect([200_000, 10_000, 90].map(longTime)).toEqual(['2.31 days', '2.78 hours', '1:30'])
})

describe('millrace plan', () => {
  const cli = join(import.meta.dirname, '../../../../dist/cli/main.js')
  const RUN = ['plan', '--tokens', '100B', '--step-tokens', '1M', '--steps-per-second', '0.5']

  test('measures a feed', () => {
    const feed = JSON.stringify({
      source: { synthetic: { count: 100, tensors: { shape: [64], dtype: 'u16' } } },
      fields: { tokens: { from: 'data', as: 'npy', dtype: 'u16', shape: [64] } },
      batch: 8,
    })
    const out = execFileSync(process.execPath, [
      cli,
      ...RUN,
      feed,
      '--seconds',
      '0.1',
      '--workers',
      '0',
      '--json',
    ])
    const { measured, fed, trainer } = JSON.parse(out.toString())
    expect(measured.length).toBe(64)
    expect(measured.tokensPerSecond).toBeCloseTo(64 * measured.rowsPerSecond, 3)
    expect(fed.tokensPerSecond).toBeCloseTo(Math.min(trainer.tokensPerSecond, measured.tokensPerSecond), 3)
  })

  test('over samples: what the trainer takes, an epoch, and what idle GPUs cost', () => {
    const words =
      '--samples 1.28M --epochs 90 --batch 256 --gpus 8 --step-ms 100 --sample-bytes 110k --feed-samples 5120'
    const run = (...more: string[]) =>
      execFileSync(process.execPath, [cli, 'plan', ...words.split(' '), ...more]).toString()
    const { steps, bytesPerSecond, trainer, fed } = JSON.parse(run('--json'))
    expect(trainer.samplesPerSecond).toBeCloseTo((8 * 256) / 0.1, 6) // GPUs × batch / step
    expect(bytesPerSecond).toBeCloseTo(20_480 * 110e3, 3)
    expect(steps).toBe(56_250)
    expect(trainer.seconds / 90).toBeCloseTo(62.5, 6)
    expect(fed.busy).toBeCloseTo(0.25, 6)
    expect(fed.cost - trainer.cost).toBeCloseTo(((3 * 5625) / 3600) * 8 * 3, 3)
    expect(run()).toContain('20.5 k samples/s, 2.10 GiB/s read')
    expect(run()).toContain('4.0 times as long, and $112.50 more')
    expect(run('--epochs', '1')).toMatch(/^never waits +20\.5 k +100\.0 % +1:03 +0\.14 +\$0\.42$/m)
  })

  test('over samples, of a feed that is measured: only the step is asked for', () => {
    const feed = JSON.stringify({
      source: { synthetic: { count: 100, images: { width: 16, height: 16 } } },
      fields: { image: { from: 'jpg', as: 'image', apply: [{ resize: [8, 8] }] } },
      batch: 8,
    })
    const run = (...more: string[]) =>
      spawnSync(process.execPath, [cli, 'plan', feed, '--workers', '1', '--seconds', '0.1', ...more], {
        encoding: 'utf8',
      })
    expect(run().stderr).toMatch(
      /needs --step-ms MS or --steps-per-second N, to know how fast the trainer is$/m,
    )
    const { measured, fed, samples, samplesPerStep, sampleBytes } = JSON.parse(
      run('--step-ms', '1000', '--gpus', '2', '--json').stdout,
    )
    expect([samples, samplesPerStep]).toEqual([measured.epochRows, 16])
    expect(sampleBytes).toBe(measured.rowBytes)
    expect(fed.samplesPerSecond).toBeCloseTo(Math.min(16, measured.rowsPerSecond), 6)
  })

  test('says what is missing', () => {
    const problem = (...words: string[]): string => {
      const { status, stderr } = spawnSync(process.execPath, [cli, ...words])
      expect(status).not.toBe(0)
      return stderr.toString()
    }
    expect(problem('plan', '--tokens', '1B', '--step-tokens', '1M')).toMatch(/--steps-per-second/)
    expect(problem('plan', '--tokens', '1B', '--steps-per-second', '1')).toMatch(/--step-tokens/)
    expect(problem('plan', '--tokens', '1B')).toMatch(/--step-tokens.*--steps-per-second.*--parameters/)
    const all = problem('plan')
    for (const name of ['samples', 'batch', 'step-ms', 'tokens', 'step-tokens'])
      expect(all).toContain(`--${name} `)
    expect(all).toContain('FEED')
    expect(problem(...RUN, '--batch', '8')).toMatch(/--batch is for a run over samples/)
    for (const [name, value] of Object.entries({ 'step-ms': '5', parameters: '7B', flops: '1T' }))
      expect(problem(...RUN, `--${name}`, value)).toMatch(/give one of them/)
    expect(problem(...RUN, '--feed-tokens', 'many')).toMatch(/amount such as 100B/)
    const pictures = JSON.stringify({
      source: { synthetic: { count: 10, images: { width: 8, height: 8 } } },
      fields: { label: { from: 'cls', as: 'int' } },
      batch: 2,
    })
    expect(problem(...RUN, pictures)).toMatch(/no field of tokens/)
  })
})
