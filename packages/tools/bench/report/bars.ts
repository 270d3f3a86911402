/** Bars, one a configuration: where the time of a step went, and how much memory was taken. */
import { bytes, ms, percent } from '../../../observe/verdict/units.js'
import type { Summary } from '../result/summary.js'
import { line, PART_WORDS, rect, svg, text, ticks } from './svg.js'

const WIDTH = 1100
const NAMES = 190
const ROW = 30
const BAR = 18
const TOP = 8

/** Marks a configuration: `best`, `default`, … */
export type Marks = ReadonlyMap<string, string>

export function partsChart(summaries: readonly Summary[], marks: Marks): string {
  const right = 170
  const longest = Math.max(...summaries.map(({ stepMs }) => stepMs.median))
  const scale = ticks(longest)
  const x = (value: number) => NAMES + ((WIDTH - NAMES - right) * value) / scale[scale.length - 1]
  const bottom = TOP + summaries.length * ROW
  const rows = summaries.flatMap(({ configuration, partsMs, parts, stepMs, lost, au }, i) => {
    const y = TOP + i * ROW
    let at = 0
    const pieces = PART_WORDS.flatMap(([part, words]) => {
      const from = at
      at += partsMs[part]
      if (partsMs[part] <= 0) return []
      const tip = `${configuration.name}: ${words} ${ms(partsMs[part])} of a step, ${percent(parts[part])}`
      return [rect({ x: x(from), y, width: x(at) - x(from), height: BAR }, `part-${part}`, tip)]
    })
    const told = au === null ? ms(stepMs.median) : `${ms(stepMs.median)}, lost ${percent(lost.median)}`
    return [...nameOf(configuration.name, marks, y), ...pieces, text(x(at) + 8, y + BAR - 4, told, 'value')]
  })
  return svg(
    WIDTH,
    bottom + 24,
    'Milliseconds of a step by part, for each configuration',
    ...axis(scale, x, bottom, ms),
    ...rows,
  )
}

export function memoryChart(summaries: readonly Summary[], marks: Marks): string {
  const most = Math.max(...summaries.map(({ peakBytes }) => peakBytes.max))
  const scale = ticks(most / 1e6)
  const x = (mb: number) => NAMES + ((WIDTH - NAMES - 250) * mb) / scale[scale.length - 1]
  const bottom = TOP + summaries.length * ROW
  const rows = summaries.flatMap(({ configuration, peakBytes, cpuSecondsPer1000 }, i) => {
    const y = TOP + i * ROW
    const cpu =
      cpuSecondsPer1000 === null ? '' : `, ${Number(cpuSecondsPer1000.median.toPrecision(3))} CPU s per 1,000`
    const width = x(peakBytes.median / 1e6) - NAMES
    return [
      ...nameOf(configuration.name, marks, y),
      rect(
        { x: NAMES, y, width, height: BAR },
        'memory',
        `${configuration.name}: ${bytes(peakBytes.min)} to ${bytes(peakBytes.max)}`,
      ),
      text(NAMES + width + 8, y + BAR - 4, `${bytes(peakBytes.median)}${cpu}`, 'value'),
    ]
  })
  return svg(
    WIDTH,
    bottom + 24,
    'Peak memory of each configuration',
    ...axis(scale, x, bottom, mb => bytes(mb * 1e6)),
    ...rows,
  )
}

export function partsLegend(summaries: readonly Summary[]): string {
  const seen = PART_WORDS.filter(([part]) => summaries.some(({ parts }) => parts[part] >= 0.002))
  const items = seen.map(([part, words]) => `<li><span class="key part-${part}"></span>${words}</li>`)
  return `<ul class="legend">${items.join('')}</ul>`
}

function nameOf(name: string, marks: Marks, y: number): string[] {
  const mark = marks.get(name)
  return [
    text(NAMES - 12, y + BAR - 4, name, mark === undefined ? 'name' : 'name marked', 'end'),
    ...(mark === undefined ? [] : [text(0, y + BAR - 4, mark, 'mark')]),
  ]
}

function axis(
  scale: readonly number[],
  x: (value: number) => number,
  bottom: number,
  words: (value: number) => string,
): string[] {
  return scale.flatMap(value => [
    line(x(value), TOP - 4, x(value), bottom, 'grid'),
    text(x(value), bottom + 16, value === 0 ? '0' : words(value), 'tick', 'middle'),
  ])
}
