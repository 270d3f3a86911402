/** What is in a source: counts, sizes, columns, classes, and the sizes of some of its images. */

import type { SourceJson } from '../../core/define/types.js'
import type { OpenedBlend } from '../../core/source/combine/blend.js'
import type { NamedManifest } from '../../core/source/combine/named.js'
import type { Layout } from '../../core/source/layout.js'
import { attachSource, openSource, openSources } from '../../core/source/registry.js'
import { needOf, RowReader, storedBytes, unreadBytes } from '../../core/source/row-reader.js'
import type { Manifest, OnProgress, OpenContext, Source } from '../../core/source/source.js'
import { Reader } from '../../core/store/reader.js'
import { Stores } from '../../core/store/stores.js'
import { imageInfo } from '../../pixels/decode/picture/image.js'
import { commonClasses, namesBeside } from './class-names.js'
import { kindOf } from './verify/checks.js'

export interface Summary {
  kind: string
  samples: number
  /** Bytes that the samples' ranges cover. */
  bytes: number
  sampleBytes: { least: number; median: number; most: number }
  columns: { name: string; kind: string; indexed: boolean }[]
  classes: { label: string; name?: string; samples: number }[]
  images: ImageSummary | undefined
  /** Where the source can tell: its columns, chunks and codecs. */
  layout: Layout | undefined
  parts: { name: string; count: number; bytes: number }[]
  indexBytes: number
  /** What the definition may want to say otherwise. */
  hint?: string
}

/** An entry of a blend: its weight, or how often it is seen. */
export interface InspectedEntry extends Summary {
  name: string
  weight: number | undefined
  epochs: number | undefined
}

/** From the headers of a few images, evenly spread over the source. */
export interface ImageSummary {
  /** Where they are, such as `jpg`, or `jpg|png` where samples differ. */
  column: string
  looked: number
  formats: Record<string, number>
  width: { least: number; median: number; most: number }
  height: { least: number; median: number; most: number }
  bad: number
}

/** Images whose headers are read. */
const LOOKED_AT = 200

export interface InspectOptions {
  root: string
  onProgress?: OnProgress
  /** Called with what was left out, or rebuilt. */
  onNotice?: (text: string) => void
}

export async function inspect(json: SourceJson, options: InspectOptions): Promise<Summary> {
  return summaryOf(await openSource(json, contextOf(options)))
}

/** What is in each entry of a blend. */
export async function inspectBlend(
  json: SourceJson & { blend: unknown },
  options: InspectOptions,
): Promise<InspectedEntry[]> {
  const { sources, blend } = await openSources(json, contextOf(options))
  const all: InspectedEntry[] = []
  for (const [i, { manifest }] of sources.entries()) {
    const summary = await summaryOf(manifest)
    const { name, weight, epochs } = (blend as OpenedBlend).entries[i]
    all.push({ name, weight, epochs, ...summary, kind: (manifest as NamedManifest).child.kind })
  }
  return all
}

const contextOf = (options: InspectOptions): OpenContext => ({
  root: options.root,
  wanted: ['cls'],
  check: 'files',
  progress: options.onProgress,
  notice: options.onNotice,
})

async function summaryOf(manifest: Manifest): Promise<Summary> {
  const source = attachSource(manifest)
  const sizes = sampleBytes(source)
  const layout = source.layout?.()
  const hint = hintOfRows(manifest, source.count, layout)
  return {
    kind: manifest.kind,
    samples: source.count,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    sampleBytes: spreadOf(sizes),
    columns: source.columns.map(name => ({
      name,
      kind: source.index(name)?.type === 'string' ? 'text' : kindOf(name),
      indexed: source.index(name) !== undefined,
    })),
    classes: await classCounts(source, commonClasses(manifest)),
    images: await imageSizes(source),
    layout,
    parts: manifest.fingerprint.parts ?? [],
    indexBytes: manifest.indexBytes,
    ...(hint !== undefined && { hint }),
  }
}

/** One file of arrays is one sample unless the definition says otherwise; mostly, its rows are meant. */
function hintOfRows(
  { kind, rows: taken }: Manifest,
  samples: number,
  layout: Layout | undefined,
): string | undefined {
  if (samples !== 1 || taken !== 'files') return undefined
  const rows = layout?.schema.map(({ type }) => Number(/ \[(\d+)/.exec(type)?.[1])).find(n => n > 1)
  if (rows === undefined) return undefined
  return `a file is a sample; with {"${kind}": {"path": …, "rows": "axis"}} each of its ${rows} rows is one`
}

function sampleBytes(source: Source): Float64Array {
  const single = source.layout?.() === undefined ? [] : source.columns.map(name => [name])
  return Float64Array.from(
    { length: source.count },
    (_, row) => storedBytes(source, row, source.columns) + unreadBytes(source, row, single),
  )
}

type Label = number | string | undefined

/** `known`: the classes by number, where the source knows them. They are counted even where there is no sample. */
async function classCounts(source: Source, known: readonly string[] = []): Promise<Summary['classes']> {
  const labels = source.index('label') ?? source.index('cls')
  if (labels === undefined) return []
  const counts = new Map<number | string | undefined, number>(known.map((_, label) => [label, 0]))
  for (let row = 0; row < source.count; row++) {
    const label = labels.at(row)
    counts.set(label, (counts.get(label) ?? 0) + 1)
  }
  const names = known.length > 0 ? (label: Label) => known[Number(label)] : await classNames(source)
  return [...counts]
    .sort(([a], [b]) =>
      typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)),
    )
    .map(([label, samples]) => ({ label: String(label ?? 'no value'), name: names(label), samples }))
}

/** Names by label: from the source's own index, or from the classes.json that `pack` leaves beside the shards. */
async function classNames(source: Source): Promise<(label: Label) => string | undefined> {
  const own = source.index('class')
  const labels = source.index('label')
  if (own !== undefined && labels !== undefined) {
    const names = new Map<Label, string>()
    for (let row = 0; row < source.count; row++) names.set(labels.at(row), String(own.at(row)))
    return label => names.get(label)
  }
  const file = source.count > 0 ? needOf(source, 0, source.columns).ranges[0]?.file : undefined
  if (file === undefined) return () => undefined
  using stores = new Stores()
  const names = await namesBeside([file], stores)
  return label => names[Number(label)]
}

async function imageSizes(source: Source): Promise<ImageSummary | undefined> {
  const columns = source.columns.filter(name => kindOf(name) === 'image')
  if (columns.length === 0) return undefined
  const seen = new Set<string>()
  using stores = new Stores()
  const rows = new RowReader(source, new Reader(stores))
  const wanted = Math.min(LOOKED_AT, source.count)
  const widths: number[] = []
  const heights: number[] = []
  const formats: Record<string, number> = {}
  let bad = 0
  for (let i = 0; i < wanted; i++) {
    const row = Math.floor((i * source.count) / wanted)
    try {
      const found = await firstOf(columns, async column => (await rows.read(row, [column])).sample[column])
      if (found === undefined) continue // a sample without a picture
      seen.add(found.column)
      const { format, width, height } = imageInfo(found.bytes)
      widths.push(width)
      heights.push(height)
      formats[format] = (formats[format] ?? 0) + 1
    } catch {
      bad++ // `verify` says which and why
    }
  }
  const looked = widths.length + bad
  return {
    column: [...seen].join('|'),
    looked,
    formats,
    width: spreadOf(widths),
    height: spreadOf(heights),
    bad,
  }
}

/** The first column that a sample has: its pictures may be of several kinds. */
async function firstOf(
  columns: readonly string[],
  value: (column: string) => Promise<unknown>,
): Promise<{ column: string; bytes: Uint8Array } | undefined> {
  for (const column of columns) {
    const bytes = await value(column)
    if (bytes instanceof Uint8Array) return { column, bytes }
  }
  return undefined
}

function spreadOf(values: ArrayLike<number>): { least: number; median: number; most: number } {
  const sorted = Float64Array.from(values).sort()
  const at = (i: number) => sorted[i] ?? 0
  return { least: at(0), median: at(sorted.length >> 1), most: at(sorted.length - 1) }
}
