/** `millrace bench` and `millrace compare` as users run them, on small feeds. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { PART_NAMES } from '../../../../observe/account/parts.js'
import type { BenchFile } from '../../../bench/result/file.js'
import { readBench } from '../../../bench/result/file.js'
import type { StepEvent } from '../../../bench/result/step-log.js'
import { millrace, pictureFolder } from '../../prepare/helpers.js'

const folder = temporaryFolder()
const MINUTES = 300_000

function feed(name: string, source: object): string {
  const path = join(folder, name)
  const fields = {
    image: { from: name.startsWith('jpegs') ? 'image' : 'jpg', as: 'image', apply: [{ resize: [24, 24] }] },
  }
  writeFileSync(path, JSON.stringify({ source, fields, order: { shuffle: 'global', seed: 3 }, batch: 8 }))
  return path
}

/** What is true of every result, however fast the machine is. */
function check({ header, runs, summary }: BenchFile): void {
  expect(header.machine.cores).toBeGreaterThan(0)
  expect(header.data.order).toMatch(/^[0-9a-f]{16}$/)
  expect(runs.length).toBeGreaterThan(0)
  for (const { figures } of runs) {
    expect(figures.steps).toBeGreaterThan(0)
    expect(figures.samplesPerSecond).toBeGreaterThan(0)
    expect(figures.samples / figures.seconds).toBeCloseTo(figures.samplesPerSecond, 0)
    const sum = PART_NAMES.reduce((total, part) => total + figures.parts[part], 0)
    expect(sum).toBeCloseTo(1, 5)
    const { p50, p95, p99, max } = figures.wait
    expect([p50, p95, p99, max]).toEqual([p50, p95, p99, max].sort((a, b) => a - b))
    expect(figures.firstBatchMs).toBeGreaterThan(0)
    expect(figures.memory.peakBytes).toBeGreaterThan(figures.slotBytes)
    expect(figures.warmUp.steps).toBeGreaterThan(0)
  }
  const names = summary!.configurations.map(({ configuration }) => configuration.name)
  expect(names).toContain(summary!.choice!.best)
}

const logOf = (out: string, name: string): StepEvent[] =>
  readFileSync(join(out, 'steps', `${name}.log`), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))

describe('bench', () => {
  test(
    'of a synthetic feed: rounds are interleaved, files are there, and a comparison with itself is one',
    async () => {
      const path = feed('synthetic.json', { synthetic: { count: 400, images: { width: 32, height: 32 } } })
      const out = join(folder, 'out')
      const args = ['--step-ms', '2', '--workers', '1,2', '--depth', '4', '--rounds', '3', '--steps', '25']
      const { stdout, stderr, code } = await millrace('bench', path, ...args, '--out', out, '--json')
      expect(code, stderr).toBe(0)
      expect(stderr).toMatch(/about \d+ configurations, 3 rounds: about/)
      const json = JSON.parse(stdout)
      const file = readBench(out)
      check(file)
      expect(json.choice.conclusion).toBe(file.summary!.choice!.conclusion)
      expect(json.configurations).toHaveLength(file.summary!.configurations.length)
      const order = file.runs.map(({ round }) => round)
      expect(order).toEqual([...order].sort((a, b) => a - b))
      const first = file.runs.filter(({ round }) => round === 1).map(run => run.configuration.name)
      const second = file.runs.filter(({ round }) => round === 2).map(run => run.configuration.name)
      expect(second).toEqual(first)
      expect(first[0]).toBe('w0-d1')
      for (const { figures } of file.runs) {
        expect(figures.steps).toBe(25)
        expect(figures.au!.dlio).toBeGreaterThan(0)
        expect(figures.au!.nominal).toBeLessThanOrEqual(1)
      }
      expect(readdirSync(join(out, 'steps')).sort()).toEqual(first.map(name => `${name}.log`).sort())
      const events = logOf(out, first[1])
      expect(events[0]).toMatchObject({ event: 'run start', locals: { configuration: first[1], round: 3 } })
      expect(events.at(-1)!.event).toBe('run end')
      expect(events.filter(({ event }) => event === 'training end').length).toBeGreaterThanOrEqual(25)
      expect(events.some(({ event }) => event === 'get-batch end')).toBe(true)
      const page = readFileSync(join(out, 'report.html'), 'utf8')
      const [, data] = /id="data">(.*?)<\/script>/s.exec(page)!
      expect(data).toContain(file.summary!.choice!.best)
      expect(data).not.toMatch(/NaN|undefined/)

      const compared = await millrace('compare', out, out, '--json')
      expect(compared.code, compared.stderr).toBe(0)
      expect(JSON.parse(compared.stdout).conclusion).toContain('No difference beyond noise')

      // With another step: that is refused before anything is measured.
      const other = await millrace('bench', path, '--step-ms', '7', '--baseline', out, '--out', `${out}-2`)
      expect(other.code).toBe(2)
      expect(other.stderr).toContain('another step')
      expect(existsSync(join(`${out}-2`, 'bench.jsonl'))).toBe(false)

      // A baseline is not written over.
      const same = await millrace('bench', path, '--step-ms', '2', '--baseline', out, '--out', out)
      expect(`${same.code} ${same.stderr}`).toMatch(/^2 .*is where results go: give another --out/)
      expect(readBench(out)).toEqual(file)
    },
    MINUTES,
  )

  test(
    'of a folder of JPEGs: epochs, and a baseline',
    async () => {
      pictureFolder(join(folder, 'photos'), ['cat', 'dog'], 60)
      const path = feed('jpegs.json', { folder: 'photos' })
      const out = join(folder, 'jpegs')
      const args = ['--workers', '1', '--depth', '4', '--rounds', '3', '--epochs', '3', '--warm-up', 'epoch']
      const { stdout, stderr, code } = await millrace('bench', path, ...args, '--out', out)
      expect(code, stderr).toBe(0)
      expect(stdout).toMatch(/[\d,.]+ samples\/s \([\d,.]+–[\d,.]+\)/)
      expect(stdout).toMatch(/^(default|best|fastest) +millrace run /m)
      const file = readBench(out)
      check(file)
      for (const { figures } of file.runs) {
        expect(figures.epochs).toBe(3)
        expect(figures.steps).toBe(2 * 15) // 120 pictures in batches of 8; the first epoch is warm-up
        expect(figures.epochGapMs).not.toBeNull()
        expect(figures.bytesPerSecond).toBeGreaterThan(0)
        expect(figures.au).toBeNull()
      }
      // A past that was ten times as fast.
      const past = readFileSync(join(out, 'bench.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map(line => JSON.parse(line))
        .filter(({ type }) => type !== 'summary')
      for (const { figures, round } of past) if (figures) figures.samplesPerSecond = 1e7 * (1 + 0.001 * round)
      const faster = join(folder, 'faster.jsonl')
      writeFileSync(faster, past.map(line => JSON.stringify(line)).join('\n'))
      const now = join(folder, 'now')
      const compared = await millrace('bench', path, ...args, '--baseline', faster, '--out', now, '--json')
      expect(compared.code, compared.stderr).toBe(0)
      const { baseline } = JSON.parse(compared.stdout)
      expect(baseline.conclusion).toMatch(/^B is slower/)
      expect(compared.stderr).toContain('--workers, --depth: not used, --baseline says what is measured')
    },
    MINUTES,
  )

  test('mistakes are told', async () => {
    const path = feed('synthetic.json', { synthetic: { count: 400, images: { width: 32, height: 32 } } })
    const reported = async (...args: string[]) => {
      const { code, stderr } = await millrace('bench', path, ...args)
      return `${code} ${stderr}`
    }
    expect(await reported('--workers', '1,x')).toMatch(/^2 .*--workers wants whole numbers/)
    expect(await reported('--warm-up', 'epoch', '--epochs', '1')).toMatch(/^2 .*leaves nothing/)
    expect(await reported('--force')).toMatch(/^2 .*--force is for --baseline/)
    expect(await reported('--baseline', 'b', '--rounds', '2')).toMatch(/^2 .*2 rounds can't tell: take 5/)
    // 1 would mean that it is slower.
    const wrong = join(folder, 'wrong.jsonl')
    writeFileSync(wrong, 'no JSON\n')
    expect(await reported('--baseline', wrong)).toMatch(
      /^2 .*--baseline: .*wrong\.jsonl: line 1 is no JSON object/,
    )
    writeFileSync(wrong, '{"type":"bench","version":99}\n')
    expect(await reported('--baseline', wrong)).toMatch(/^2 .*--baseline: .*has version 99/)
    expect(await reported('--baseline', 'missing.jsonl')).toMatch(
      /^2 .*--baseline: there is no missing\.jsonl/,
    )
    expect(await reported('--baseline', '/dev/null')).toMatch(/^2 .*--baseline: \/dev\/null is a device/)
    // Node's own mkdir would never end here.
    expect(await reported('--out', '/proc/foo')).toMatch(/^1 .*can't mkdir \/proc\/foo/)
  })
})
