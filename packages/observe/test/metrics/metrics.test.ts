/** Metrics: flat names, Prometheus' text, the schema, and that the guide has them all. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MillraceError } from '../../../core/basics/errors.js'
import { account } from '../../account/account.js'
import type { Accounting, HostSignals } from '../../evidence.js'
import { prometheus } from '../../metrics/prometheus.js'
import { FAMILIES, flatMetrics, METRICS } from '../../metrics/table.js'
import { evidenceOf, sliceOf, stepsLike } from '../account/evidence.js'
import { mistakes } from './schema.js'

const docs = join(import.meta.dirname, '../../../../docs')
const schema = JSON.parse(readFileSync(join(docs, 'accounting.schema.json'), 'utf8'))

const HOST: HostSignals = {
  seconds: 10,
  allowed: 2,
  coreBusy: [0.9, 0.4],
  idleCores: 0.7,
  engineCores: 0.8,
  trainerCores: 0.3,
  otherCores: 0.2,
  psi: { cpu: 0.1, io: 0.05, memory: null },
  throttled: null,
  trainerDelay: 0.02,
  rssBytes: 1e9,
  pageCacheBytes: 2e9,
  memoryLimitBytes: null,
  refaultBytes: 4096,
  diskBytes: 5e6,
  readBytes: 6e6,
  gpu: { name: 'H', hasWork: 0.9, smActive: 0.5, memoryBytes: 1e9, watts: 300 },
}

function example(host: HostSignals | null = HOST): Accounting {
  const steps = stepsLike(100, { supply: 10, handOver: 2, compute: 38 }, 1000)
  const first = { ...stepsLike(1, { supply: 900, compute: 38 })[0], first: true }
  steps[50].epochStart = true
  const makers = steps.map(({ asked }) =>
    sliceOf({
      from: asked,
      to: asked + 50,
      cpu: 30,
      delay: 10,
      rows: 32,
      bytes: 1000,
      reads: 2,
      opens: 1,
      work: { read: 20, decode: 30 },
    }),
  )
  const cache = { hits: 9, waits: 0, loads: 1 }
  return account(evidenceOf([first, ...steps], makers, { host, cache }))
}

test('flat metrics have every name once, and leave out what is not known', () => {
  const flat = flatMetrics(example())
  const unknown = ['host/psi_memory', 'host/throttled', 'host/memory_limit_bytes']
  expect(Object.keys(flat)).toEqual(
    METRICS.map(({ name }) => name)
      .filter(name => !unknown.includes(name))
      .map(name => `millrace/${name}`),
  )
  expect(flat).toMatchObject({
    'millrace/part/ideal': 0.76,
    'millrace/part/hand_over': 0.04,
    'millrace/wait_ms/p95': 12,
    'millrace/read_size': 500,
    'millrace/host/core_busy_max': 0.9,
    'millrace/gpu/watts': 300,
  })
  expect(flat['millrace/lost']).toBeCloseTo(0.24)
  const without = Object.keys(flatMetrics(account(evidenceOf([], []))))
  expect(without.filter(name => /host|gpu|cpu_ms|work/.test(name))).toEqual([])
})

test('what workers count is left out where none was seen', () => {
  const steps = stepsLike(100, { supply: 10, compute: 38 }, 1000)
  const one = account(evidenceOf(steps, []))
  const of = /workers|work_|cpu_ms|run_delay|blocked_ms|read_|opens|open_share/
  expect(one.makers.from).toBe('none')
  expect(Object.keys(flatMetrics(one)).filter(name => of.test(name))).toEqual([])
  expect(prometheus({ feed: 'a', rank: 0, account: one })).not.toMatch(/millrace_(worker|read|open)/)
})

test('the guide has every metric and family by its name', () => {
  const text = readFileSync(join(docs, 'measure.md'), 'utf8')
  const named = (name: string) => text.includes(`\`${name}\``)
  expect(METRICS.map(({ name }) => `millrace/${name}`).filter(name => !named(name))).toEqual([])
  expect(Object.keys(FAMILIES).filter(name => !named(`millrace_${name}`))).toEqual([])
})

/** Reads Prometheus' text as its format is described; throws where that is broken. */
function parse(
  text: string,
): Map<string, { type: string; samples: [name: string, labels: string, value: number][] }> {
  const families = new Map<string, { type: string; samples: [string, string, number][] }>()
  let family = ''
  const seen = new Set<string>()
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line has no end')
  for (const line of text.split('\n').slice(0, -1)) {
    const help = /^# HELP ([a-zA-Z_:][\w:]*) (.+)$/.exec(line)
    if (help) {
      if (families.has(help[1])) throw new Error(`twice: ${line}`)
      family = help[1]
      families.set(family, { type: '', samples: [] })
      continue
    }
    const type = /^# TYPE (\S+) (counter|gauge|summary)$/.exec(line)
    if (type) {
      if (type[1] !== family || families.get(family)!.samples.length > 0) throw new Error(`too late: ${line}`)
      families.get(family)!.type = type[2]
      continue
    }
    const label = '[a-zA-Z_]\\w*="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"'
    const sample = new RegExp(`^([a-zA-Z_:][\\w:]*)\\{(${label}(?:,${label})*)\\} (\\S+)$`).exec(line)
    if (!sample) throw new Error(`no sample: ${line}`)
    const base = families.get(family)!.type === 'summary' ? sample[1].replace(/_(sum|count)$/, '') : sample[1]
    if (base !== family) throw new Error(`not of ${family}: ${line}`)
    if (Number.isNaN(Number(sample[3]))) throw new Error(`no number: ${line}`)
    if (seen.has(sample[1] + sample[2])) throw new Error(`the same labels twice: ${line}`)
    seen.add(sample[1] + sample[2])
    families.get(family)!.samples.push([sample[1], sample[2], Number(sample[3])])
  }
  return families
}

describe('Prometheus', () => {
  test('every family that has a value is there with help and type', () => {
    const found = parse(prometheus({ feed: 'cats', rank: 3, account: example() }))
    const unknown = ['millrace_host_throttled_ratio']
    expect([...found.keys()]).toEqual(
      Object.keys(FAMILIES)
        .map(name => `millrace_${name}`)
        .filter(name => !unknown.includes(name)),
    )
    for (const [name, { type }] of found)
      expect(type, name).toBe(FAMILIES[name.slice('millrace_'.length)].type)
    expect(found.get('millrace_step_share_ratio')!.samples[2]).toEqual([
      ...['millrace_step_share_ratio', 'feed="cats",rank="3",part="hand_over"', 0.04],
    ])
    expect(found.get('millrace_wait_seconds')!.samples.slice(1)).toEqual([
      ['millrace_wait_seconds', 'feed="cats",rank="3",quantile="0.95"', 0.012],
      ['millrace_wait_seconds', 'feed="cats",rank="3",quantile="0.99"', 0.012],
      ['millrace_wait_seconds_sum', 'feed="cats",rank="3"', 1.2],
      ['millrace_wait_seconds_count', 'feed="cats",rank="3"', 100],
    ])
  })

  test('several ranks share a family; any name of a feed is a label', () => {
    const one = example(null)
    const text = prometheus([0, 1].map(rank => ({ feed: 'a', rank, account: one })))
    expect(parse(text).get('millrace_lost_ratio')!.samples).toHaveLength(2)
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        feed => void parse(prometheus({ feed, rank: 0, account: one })),
      ),
    )
  })

  test('what is no accounting is refused, and says what it takes', () => {
    const good = { feed: 'a', rank: 0, account: example(null) }
    const { feed, ...nameless } = good
    for (const wrong of [{}, undefined, 7, [good, {}], { ...good, account: {} }, nameless])
      expect(() => prometheus(wrong as never), feed).toThrow(MillraceError)
    expect(() => prometheus({} as never)).toThrow('takes { feed, rank, account }')
    expect(prometheus([])).toBe('')
  })

  test("Prometheus' own parser reads it, where that is installed", context => {
    const text = prometheus({ feed: 'a "quoted"\\ name', rank: 0, account: example() })
    const program = `
import sys
from prometheus_client.parser import text_string_to_metric_families as parse
families = list(parse(sys.stdin.read()))
assert all(f.documentation and f.type != "unknown" for f in families), families
print(len(families), [s.labels["feed"] for f in families for s in f.samples][0])`
    try {
      execFileSync('python3', ['-c', 'import prometheus_client'], { stdio: 'ignore' })
    } catch {
      return context.skip()
    }
    const printed = execFileSync('python3', ['-c', program], { input: text, encoding: 'utf8' })
    expect(printed.trim()).toBe(`${Object.keys(FAMILIES).length - 1} a "quoted"\\ name`)
  })
})

describe('the schema', () => {
  test('describes accountings with all and with nothing', () => {
    for (const one of [example(), example(null), account(evidenceOf([], []))])
      expect(mistakes(JSON.parse(JSON.stringify(one)), schema)).toEqual([])
  })

  test('finds what is wrong', () => {
    const { gcMs, ...rest } = example()
    const wrong = { ...rest, lost: 1.5, more: gcMs, wait: { ...rest.wait, p50: null } }
    expect(mistakes(wrong, schema)).toEqual([
      ...['$.gcMs is missing', '$.lost: 1.5', '$.wait.p50: null, not number', '$.more is unknown'],
    ])
  })
})
