/** Texts of /proc and control groups, as several kernels write them, and texts that none writes. */
import { describe, expect, test } from 'vitest'
import { parseCores } from '../../../core/system/process/core-list.js'
import * as parse from '../../host/parse.js'

describe('/proc/stat', () => {
  test('of a kernel of today: guests are within user, waiting for the disk is idle', () => {
    const text =
      'cpu  110 20 30 400 50 6 7 8 90 0\ncpu0 100 20 30 400 50 6 7 8 90 0\ncpu3 10 0 0 0 0 0 0 0 0 0\nintr 12 0 0\nctxt 5'
    expect(parse.parseStat(text)).toEqual([
      { core: 0, busy: 171, idle: 450 },
      { core: 3, busy: 10, idle: 0 },
    ])
  })

  test('of Linux 2.4, with four figures', () => {
    expect(parse.parseStat('cpu  1 2 3 4\ncpu0 1 2 3 4\n')).toEqual([{ core: 0, busy: 6, idle: 4 }])
  })

  test('without cores, or with what is no number', () => {
    expect(parse.parseStat('')).toEqual([])
    expect(parse.parseStat('cpu0 1 2 x 4\ncpu1 1 2\ncpu2 -1 2 3 4')).toEqual([])
  })
})

test('/proc/PID/stat, with any name', () => {
  const line = (name: string) =>
    `4242 (${name}) S 17 4242 4242 0 -1 4194560 999 0 3 0 150 50 7 8 30 10 12 0 98765 1 2 3`
  const expected = { state: 'S', parent: 17, ticks: 200, threads: 12, started: 98765 }
  expect(parse.parseProcessStat(line('node'))).toEqual(expected)
  expect(parse.parseProcessStat(line('a) R 1 (b'))).toEqual(expected)
  expect(parse.parseProcessStat('4242 (node) S 17')).toBeNull()
  expect(parse.parseProcessStat('')).toBeNull()
})

test('schedstat: ms of CPU time', () => {
  expect(parse.parseSchedstat('1500000 76244 2\n')).toBe(1.5)
  expect(parse.parseSchedstat('')).toBeNull()
})

test('pressure: ms in which some task waited; of cpu also without the line of all', () => {
  const some = 'some avg10=0.00 avg60=0.12 avg300=2.91 total=41430603\n'
  expect(parse.parsePressure(some)).toBe(41430.603)
  expect(parse.parsePressure(`${some}full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n`)).toBe(41430.603)
  expect(parse.parsePressure('full avg10=0.00 total=7')).toBeNull()
  expect(parse.parsePressure('')).toBeNull()
})

test('names with numbers: of /proc/PID/io, meminfo and memory.stat', () => {
  const io = parse.parseKeyed('rchar: 6976\nwchar: 0\nread_bytes: 4096\n')
  expect(io.get('rchar')).toBe(6976)
  expect(io.get('read_bytes')).toBe(4096)
  expect(parse.parseKeyed('MemTotal:       16 kB\nHugePages_Total:  3\n').get('MemTotal')).toBe(16384)
  expect(parse.parseKeyed('anon 5\nfile 7\ntotal_cache 9\nName:\tnode 3\n')).toEqual(
    new Map([
      ['anon', 5],
      ['file', 7],
      ['total_cache', 9],
    ]),
  )
})

test('lists of cores', () => {
  expect(parseCores('0-2,8\n')).toEqual([0, 1, 2, 8])
  expect(parseCores('3')).toEqual([3])
  for (const text of ['', 'all', '3-1', '1,,2', '0-9999999']) expect(parseCores(text)).toBeNull()
})

test('quotas of both versions', () => {
  expect(parse.parseQuota('150000 100000')).toBe(1.5)
  expect(parse.parseQuota('max 100000')).toBeNull()
  expect(parse.parseQuota('50000', '25000\n')).toBe(2)
  expect(parse.parseQuota('-1', '100000')).toBeNull()
  expect(parse.parseQuota(undefined)).toBeNull()
  expect(parse.parseQuota('1000', '0')).toBeNull()
})

test('cpu.stat of both versions, and of a root, which has no quota', () => {
  const v2 = 'usage_usec 9000\nuser_usec 1\nnr_periods 10\nnr_throttled 4\nthrottled_usec 250000\nnr_bursts 0'
  expect(parse.parseCpuStat(v2)).toEqual({ periods: 10, throttled: 4, ms: 250, usedMs: 9 })
  const v1 = 'nr_periods 10\nnr_throttled 4\nthrottled_time 250000000\n'
  expect(parse.parseCpuStat(v1)).toEqual({ periods: 10, throttled: 4, ms: 250, usedMs: null })
  expect(parse.parseCpuStat('usage_usec 9000\nuser_usec 1\n')).toBeNull()
})

test('no text makes a parser throw, or give NaN', () => {
  let seed = 7
  const next = (n: number) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    return (seed >>> 8) % n
  }
  const alphabet = [
    'cpu',
    'some ',
    'total=',
    ') ',
    '0',
    '9',
    '12',
    '-',
    ',',
    ' ',
    '\n',
    ':',
    ' kB',
    'max',
    '\0',
    'é',
  ]
  for (let round = 0; round < 1000; round++) {
    const text = Array.from({ length: next(40) }, () => alphabet[next(alphabet.length)]).join('')
    const results = [
      parse.parseStat(text),
      parse.parseProcessStat(text),
      parse.parseSchedstat(text),
      parse.parsePressure(text),
      [...parse.parseKeyed(text).values()],
      parseCores(text),
      parse.parseQuota(text, text),
      parse.parseCpuStat(text),
    ]
    expect(
      JSON.stringify(results.map(result => Object.values(result ?? {}).includes(Number.NaN))),
    ).not.toMatch('true')
  }
})
