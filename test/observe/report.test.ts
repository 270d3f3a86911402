import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { type ReportData, renderReport, writeReport } from '../../src/observe/report.js'

const data: ReportData = {
  title: 'Fed <three> ways & more',
  machine: '2 cores',
  versions: { millrace: '0.1.0', node: '20' },
  date: '2026-01-01',
  price: { perHour: 3 },
  runs: [
    {
      name: 'naive </script><b>',
      what: 'one thread',
      samplesPerSecond: 812.5,
      gpuBusy: 0.25,
      waitMsPerStep: 60.25,
      idleCostPerHour: 2.25,
      steps: [{ start: 0, wait: 60.25, compute: 20 }],
      workers: [{ name: 'main', spans: [['decode', 1.5, 2.25]] }],
    },
  ],
}

/** The JSON that the page's own script reads. */
function embedded(page: string): ReportData {
  const match = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)
  return JSON.parse(match![1])
}

describe('the report', () => {
  const page = renderReport(data)

  it('holds the data, whatever characters are in it', () => {
    expect(embedded(page)).toEqual(data)
    expect(page).toContain('<title>Fed &lt;three> ways &amp; more</title>')
    expect(page).not.toContain('{{')
  })

  it('needs nothing from outside', () => {
    const withoutData = page.replace(/id="data">.*?<\/script>/s, '></script>')
    expect(withoutData).not.toMatch(/https?:|\/\/[a-z]|@import|url\(|<link|<img|\ssrc=|fetch\(/i)
  })

  it('has a script that parses', () => {
    const script = page.slice(page.lastIndexOf('<script>') + 8, page.lastIndexOf('</script>'))
    expect(() => runInNewContext(`(() => { return; ${script}\n})()`)).not.toThrow()
  })

  it('scales waits by what is usual: a long first batch leaves the others visible', () => {
    /** Top of the scale that the page gives runs with these waits (ms). */
    const top = (...runs: number[][]): number => {
      const waits = readFileSync(new URL('../../src/observe/page/waits.js', import.meta.url), 'utf8')
      const context = { runs: runs.map(all => ({ steps: all.map(wait => ({ wait })) })) }
      return runInNewContext(`${waits}\n;most`, context)
    }
    const others = Array.from({ length: 120 }, (_, i) => 2 + (i % 5) / 10)
    expect(top([700, ...others])).toBe(5)
    expect(top([700, ...others], [90, ...others.map(wait => wait * 4)])).toBe(10)
    expect(top([700, ...others, 300])).toBe(5) // one in a hundred is no rule
    expect(top([700])).toBe(1000)
    expect(top([])).toBe(0.001)
  })

  it('keeps a number and its unit on one line', () => {
    const words = readFileSync(new URL('../../src/observe/page/words.js', import.meta.url), 'utf8')
    expect(words).not.toMatch(/\} (%|s|ms|µs)`/)
    expect(words).toMatch(/const NBSP = '\\u00a0'/)
  })

  it('is written whole', () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-report-'))
    writeReport(join(folder, 'report.html'), data)
    expect(readdirSync(folder)).toEqual(['report.html'])
    expect(readFileSync(join(folder, 'report.html'), 'utf8')).toBe(page)
    rmSync(folder, { recursive: true })
  })
})
