/** Whether the memory of a process grows: on made series, and on a process that is not there. */
import { expect, test } from 'vitest'
import { growthFinding, growthOf, watchMemory } from '../../cli/doctor/growth.js'

const MiB = 2 ** 20
const series = (of: (i: number) => number) =>
  Array.from({ length: 40 }, (_, i) => ({ seconds: i / 4, bytes: of(i) * MiB }))
/** Noise that is the same every time. */
const noise = (i: number) => ((i * 7919) % 13) - 6

test('a line through noise', () => {
  const growth = growthOf(series(i => 1000 + i / 2 + noise(i) / 10))
  expect((growth?.bytesPerSecond ?? 0) / MiB).toBeCloseTo(2, 1)
  expect(growth?.interval[0]).toBeGreaterThan(0)
})

test('growth is told with its rate, and when the limit is reached', () => {
  const found = growthFinding(
    7,
    series(i => 1000 + i / 2),
    2000 * MiB,
  )
  expect(found).toMatchObject({ verdict: 'warn', is: expect.stringContaining('growing by 120 MiB a minute') })
  expect(found.is).toContain('at the limit of 1.95 GiB in 8:10')
  expect(
    growthFinding(
      7,
      series(i => 1000 + i / 2),
      null,
    ).is,
  ).not.toContain('limit')
})

test('growth that would take days to reach the limit is told, and fine', () => {
  // 1.2 MiB a minute: 10 % an hour of what it has.
  const idle = (limit: number) =>
    growthFinding(
      7,
      series(i => 700 + i / 200),
      limit,
    )
  expect(idle(24_000 * MiB)).toMatchObject({
    verdict: 'ok',
    is: expect.stringMatching(/growing by 1\.20 MiB a minute .* far from the limit of 23\.4 GiB$/),
  })
  expect(idle(800 * MiB).verdict).toBe('warn')
})

test('memory that goes up and down, falls, or grows by next to nothing does not grow', () => {
  for (const of of [(i: number) => 1000 + noise(i), (i: number) => 1000 - i, (i: number) => 1000 + i / 1e5])
    expect(growthFinding(7, series(of), null)).toMatchObject({
      verdict: 'ok',
      is: expect.stringContaining('no growth'),
    })
})

test('a process that ended, and one that is not there', async () => {
  expect(growthFinding(7, series(() => 1).slice(0, 3), null).is).toContain('ended too soon')
  const { points } = await watchMemory(2 ** 22 + 1, 1)
  expect(growthFinding(7, points, null)).toMatchObject({
    verdict: 'bad',
    is: expect.stringContaining('no process 7'),
  })
})

test('this process has memory of its own', async () => {
  const { points, limit } = await watchMemory(process.pid, 0.1)
  expect(points.length).toBe(41)
  expect(points[0].bytes).toBeGreaterThan(10 * MiB)
  expect(limit).toBeGreaterThan(points[0].bytes)
})
