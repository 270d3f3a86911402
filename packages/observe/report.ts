/**
 * The report: one HTML file that shows several runs side by side, with their timelines. It holds everything it
 * needs, so it opens from a disk, an e-mail or a CI artefact, without a network.
 */
import { readFileSync } from 'node:fs'
import type { SpanName } from '../core/spans/span-words.js'
import { writeWhole } from '../core/system/files/draft.js'
import type { Parts } from './evidence.js'

/** All times are milliseconds since the beginning of the run. */
export interface ReportRun {
  name: string
  /** How it was fed, in one sentence. */
  what: string
  samplesPerSecond: number
  /** Share of the time in which the trainer computed, 0…1. */
  gpuBusy: number
  waitMsPerStep: number
  idleCostPerHour: number
  /** A step begins when the trainer asks for its batch: it waits, then computes. */
  steps: { start: number; wait: number; compute: number }[]
  workers: { name: string; spans: [kind: SpanName, start: number, duration: number][] }[]
  /** Where the time of a step went, as shares that add up to 1, and what is lost by it; why, and what to do. */
  lost?: number
  parts?: Parts
  why?: string
}

export interface ReportData {
  title: string
  /** The machine in words: `2 cores, 8 GiB, Linux 6.8`. */
  machine: string
  /** Names and versions of what took part: `{ millrace: '0.1.0', node: '20.20.2' }`. */
  versions: Record<string, string>
  date: string
  /** Price of the GPU, per hour; `currency` is what stands before the amount ($ unless told otherwise). */
  price: { perHour: number; currency?: string; what?: string }
  runs: ReportRun[]
}

/** The parts of the page's script, in the order in which they build on each other. */
const SCRIPTS = ['words.js', 'parts.js', 'waits.js', 'timeline.js', 'moves.js']

/** `{{name}}` in the template: within a comment in style and script, a string in JSON, so that each is valid as it is. */
const PLACE = /(?:\/\* |")?\{\{(\w+)\}\}(?: \*\/|")?/g

/** Writes the report to `path`, whole or not at all. */
export function writeReport(path: string, data: ReportData): void {
  writeWhole(path, renderReport(data))
}

/** The report as a page. */
export function renderReport(data: ReportData): string {
  const parts: Record<string, string> = {
    title: escapeText(data.title),
    style: asset('report.css'),
    data: embed(data),
    script: SCRIPTS.map(asset).join('\n'),
  }
  return asset('report.html').replace(PLACE, (_, name: string) => parts[name])
}

function asset(name: string): string {
  return readFileSync(new URL(`./page/${name}`, import.meta.url), 'utf8')
}

/** JSON that may stand in a <script>: no `<` that could end it. Times are rounded to a tenth of a microsecond. */
function embed(data: ReportData): string {
  const json = JSON.stringify(data, (_, value) =>
    typeof value === 'number' && !Number.isInteger(value) ? Math.round(value * 1e4) / 1e4 : value,
  )
  return json.replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
