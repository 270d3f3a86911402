/** Plain SVG, as text. Colours are classes of the page's style, so that charts follow light and dark. */
import type { Parts } from '../../../observe/evidence.js'

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, found => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[found]!)
}

/** A drawing of its own size, which shrinks with the page. `what` is read to those who can't see it. */
export function svg(width: number, height: number, what: string, ...parts: string[]): string {
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(what)}">${parts.join('')}</svg>`
}

export interface Box {
  x: number
  y: number
  width: number
  height: number
}

export function rect({ x, y, width, height }: Box, style: string, title?: string): string {
  const tip = title === undefined ? '' : `<title>${escaped(title)}</title>`
  return `<rect class="${style}" x="${r(x)}" y="${r(y)}" width="${r(Math.max(0, width))}" height="${r(height)}">${tip}</rect>`
}

export function text(x: number, y: number, words: string, style = '', anchor = 'start'): string {
  return `<text class="${style}" x="${r(x)}" y="${r(y)}" text-anchor="${anchor}">${escaped(words)}</text>`
}

export function line(x1: number, y1: number, x2: number, y2: number, style: string): string {
  return `<line class="${style}" x1="${r(x1)}" y1="${r(y1)}" x2="${r(x2)}" y2="${r(y2)}"/>`
}

export function path(points: readonly (readonly [number, number])[], style: string): string {
  return `<path class="${style}" d="${points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${r(x)} ${r(y)}`).join('')}"/>`
}

export function circle(x: number, y: number, radius: number, style: string, title: string): string {
  return `<circle class="${style}" cx="${r(x)}" cy="${r(y)}" r="${radius}"><title>${escaped(title)}</title></circle>`
}

/** Round numbers from 0 to at least `most`: some 4 or 5. */
export function ticks(most: number): number[] {
  if (!(most > 0)) return [0, 1]
  const rough = most / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * ([1, 2, 2.5, 5, 10].find(factor => factor * power >= rough) ?? 10)
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, i) =>
    Number((i * step).toPrecision(12)),
  )
}

/** The parts of a step in the order of a bar, what each is called, and whether it is a loss. */
export const PART_WORDS: readonly (readonly [part: keyof Parts, words: string])[] = [
  ['ideal', 'training'],
  ['slowed', 'slowed'],
  ['handOver', 'hand-over'],
  ['transfer', 'copy to device'],
  ['running', 'workers running'],
  ['queued', 'workers queued for a core'],
  ['blocked', 'workers blocked'],
  ['noSlot', 'workers without a slot'],
]

function r(value: number): number {
  return Math.round(value * 100) / 100
}
