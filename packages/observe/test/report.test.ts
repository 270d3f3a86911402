import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { type ReportData, renderReport, writeReport } from '../report.js'

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
      const waits = readFileSync(new URL('../page/waits.js', import.meta.url), 'utf8')
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

  it('shows where the time of a step went as a bar whose parts add up, and says why', () => {
    const source = (name: string) => readFileSync(new URL(`../page/${name}`, import.meta.url), 'utf8')
    /** Just enough of a document to see what the page writes. */
    class Node {
      style: Record<string, string> = {}
      children: (Node | string)[] = []
      hidden = true
      textContent = ''
      label = ''
      append(...nodes: (Node | string)[]) {
        this.children.push(...nodes)
      }
      setAttribute(_: string, text: string) {
        this.label = text
      }
    }
    const places = new Map<string, Node>()
    const byId = (id: string) => places.get(id) ?? places.set(id, new Node()).get(id)!
    const element = (_: string, properties: object = {}, ...children: (Node | string)[]) =>
      Object.assign(new Node(), properties, { children })
    const percent = (share: number) => `${Math.round(share * 100)} %`
    const parts = {
      ideal: 0.5,
      slowed: 0,
      handOver: 0.05,
      transfer: 0,
      running: 0.3,
      queued: 0.1,
      blocked: 0.05,
    }
    const runs = [
      { name: 'naive', lost: 0.5, parts: { ...parts, noSlot: 0 }, why: 'because' },
      { name: 'old' },
    ]
    runInNewContext(source('parts.js'), { runs, byId, element, percent })
    expect(byId('parts-section').hidden).toBe(false)
    const [article, ...none] = byId('parts').children as Node[]
    expect(none).toEqual([])
    const [title, bar, why] = article.children as Node[]
    expect([title.textContent, why.textContent]).toEqual(['naive: lost 50 %', 'because'])
    const widths = (bar.children as Node[]).map(({ style }) => Number.parseFloat(style.width))
    expect(widths).toEqual([50, 5, 30, 10, 5])
    expect(bar.label).toContain('waiting for cores 10 %')
    expect(byId('parts-legend').children).toHaveLength(5)
    places.clear()
    runInNewContext(source('parts.js'), { runs: runs.slice(1), byId, element, percent })
    expect(places.size).toBe(0)
  })

  it('keeps a number and its unit on one line', () => {
    const words = readFileSync(new URL('../page/words.js', import.meta.url), 'utf8')
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
