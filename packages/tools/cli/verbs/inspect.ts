/** `millrace inspect`: what is in a folder or in shards. */

import { existsSync, statSync } from 'node:fs'
import { printable } from '../../../core/basics/errors.js'
import type { NormalFeed, SourceJson } from '../../../core/define/types.js'
import type { InspectedEntry, Summary } from '../../prepare/inspect.js'
import { command } from '../command.js'
import { flagsOf } from '../option-flags.js'
import { keptNotices, Progress } from '../progress.js'
import { bar, pairs, right, table } from '../table.js'
import { bytes, count, counted } from '../units.js'

/** Lines of columns, of classes and of shards that are printed; --json has all. */
const COLUMNS_SHOWN = 40
const CLASSES_SHOWN = 20
const PARTS_SHOWN = 12

type Facts = [name: string, value: string][]

export const inspect = command({
  name: 'inspect',
  summary:
    'says what is in a dataset: counts, sizes, columns, classes, what is slow about it, how well a feed mixes',
  args: [
    {
      name: 'PATH|FEED',
      about:
        'a folder, a file or a pattern (tar, Parquet, Arrow, NPZ, HDF5, Zarr, TFRecord, CSV, …), a source as JSON, or a feed',
    },
  ],
  options: flagsOf('inspect'),
  examples: [
    ['millrace inspect photos', 'a folder with a subfolder for each class'],
    ['millrace inspect cats.json', 'the source of a feed, and how well its order mixes it'],
    ["millrace inspect 'data/train-*.parquet'", 'files of any format in docs/formats.md'],
    [
      'millrace inspect \'{"hdf5": {"path": "demos.h5", "datasets": {"image": "data/*/obs/img"}, "rows": "groups"}}\'',
      'a source as a definition has it',
    ],
    ["millrace inspect 'shards/train-{0000..0015}.tar' --json", 'tar shards, for a program to read'],
  ],
  async run({ args: [path], values }) {
    const [{ inspect, inspectBlend }, { formatsIn }, { locate }] = await Promise.all([
      import('../../prepare/inspect.js'),
      import('../../prepare/formats.js'),
      import('../locate.js'),
    ])
    const plugins = values.plugin
    const { notices, onNotice } = keptNotices()
    const progress = new Progress('indexing', { unit: 'bytes' })
    const { source, root, feed } = await locate(path, values['allow-code'], plugins)
    const options = { root, onProgress: progress.set.bind(progress), onNotice }
    if ('blend' in source) {
      const entries = await inspectBlend(source, options)
      progress.end()
      const order = feed && (await orderOf(feed))
      const json = { kind: 'blend', entries, source, notices, ...order?.json }
      return { json, text: describeBlend(path, entries, order?.facts) }
    }
    const summary = withTokensHint(path, await inspect(source, options))
    progress.end()
    const order = feed && (await orderOf(feed))
    const formats = existsSync(path) && statSync(path).isDirectory() ? formatsIn(path) : undefined
    return {
      json: { ...summary, ...(formats && { formats }), source, notices, ...order?.json },
      text: describe(path, source, summary, formats, order?.facts),
    }
  },
})

function describe(
  path: string,
  source: SourceJson,
  summary: Summary,
  formats?: Record<string, number>,
  order: Facts = [],
): string {
  const { sampleBytes: size, images, hint } = summary
  const facts: Facts = [
    ['source', shortened(JSON.stringify(source))],
    ...(formats === undefined ? [] : [['formats', formatsText(formats)] as [string, string]]),
    ['samples', count(summary.samples)],
    [
      'data',
      `${bytes(summary.bytes)} (a sample: ${bytes(size.least)} … ${bytes(size.median)} … ${bytes(size.most)})`,
    ],
    ...layoutFacts(summary),
    ['index', bytes(summary.indexBytes)],
  ]
  if (images !== undefined && images.looked > images.bad) {
    const formats = Object.entries(images.formats)
      .map(([format, n]) => `${count(n)} ${format}`)
      .join(', ')
    const { width, height } = images
    facts.push([
      'images',
      `of ${counted(images.looked, 'header')} in "${images.column}": ${formats}; ` +
        `width ${width.least} … ${width.median} … ${width.most}, height ${height.least} … ${height.median} … ${height.most}`,
    ])
  }
  if (images !== undefined && images.bad > 0) {
    facts.push([
      'bad',
      `${counted(images.bad, 'header')} of ${images.looked} can't be read: millrace verify ${path} names them`,
    ])
  }
  if (hint !== undefined) facts.push(['hint', hint])
  facts.push(...order)
  const tables = [schemaTable(summary), classTable(summary), partTable(summary)]
  return [`${printable(path)}: ${summary.kind}`, pairs(facts), ...tables].filter(Boolean).join('\n\n')
}

function formatsText(formats: Record<string, number>): string {
  const all = Object.entries(formats).map(([format, n]) => `${counted(n, 'file')} of ${format}`)
  return `${all.join(', ')}; what is told here is of the source above: name others by a pattern`
}

/** A .bin is mostly a file of tokens, of which only `tokens inspect` knows more. */
function withTokensHint(path: string, summary: Summary): Summary {
  if (summary.kind !== 'files' || !path.endsWith('.bin')) return summary
  return { ...summary, hint: `if these are tokens: millrace tokens inspect ${printable(path)}` }
}

/** A line for each entry. More is said of one that is inspected by itself. */
function describeBlend(path: string, entries: readonly InspectedEntry[], order: Facts = []): string {
  const heads = ['entry', right('weight'), 'kind', right('samples'), right('size')]
  const shown = entries.slice(0, COLUMNS_SHOWN)
  const rows = shown.map(({ name, weight, epochs, kind, samples, bytes: size }) => [
    printable(name),
    weight ?? (epochs === undefined ? '' : `${epochs} ×`),
    kind,
    count(samples),
    bytes(size),
  ])
  const made = shown.flatMap(({ name, layout }) =>
    layout?.chunks === undefined ? [] : [`${printable(name)}: ${layout.chunks}`],
  )
  const listed = table(heads, rows) + more(entries.length - shown.length, 'entry', 'entries')
  return [`${printable(path)}: blend`, listed, made.join('\n'), pairs(order)].filter(Boolean).join('\n\n')
}

/** The line about a feed's order, one for each entry of a blend. */
async function orderOf(feed: NormalFeed): Promise<{ json: { order: unknown }; facts: Facts }> {
  const { qualityOf, qualityText } = await import('./inspect/order.js')
  const order = await qualityOf(feed)
  const lines = typeof order === 'string' ? [`none can be made: ${order}`] : order.map(qualityText)
  return { json: { order }, facts: lines.map(line => ['order', line]) }
}

/** A source of many files or indices is not printed whole. */
const shortened = (text: string): string =>
  text.length > 400 ? `${text.slice(0, 400)}… (--json has all)` : text

/** How the data lie, where the source can tell; else what its columns hold by their names. */
function layoutFacts({ layout, columns }: Summary): [string, string][] {
  if (layout === undefined) {
    const about = columns.map(({ name, kind, indexed }) => `${name} (${kind}${indexed ? ', indexed' : ''})`)
    return [['columns', about.join(', ')]]
  }
  const { schema, chunks, codecs, slow } = layout
  const facts: [string, string][] = [['columns', count(schema.length)]]
  if (chunks !== undefined) facts.push(['chunks', chunks])
  facts.push(['codecs', codecs === undefined || codecs.length === 0 ? 'none' : codecs.join(', ')])
  if (slow !== undefined) facts.push(['slow', slow])
  return facts
}

function schemaTable({ layout, columns }: Summary): string {
  if (layout === undefined) return ''
  const indexed = new Set(columns.filter(column => column.indexed).map(({ name }) => name))
  const shown = layout.schema.slice(0, COLUMNS_SHOWN)
  const nulls = (value: number | boolean | undefined): string =>
    typeof value === 'number' ? count(value) : value ? 'maybe' : ''
  const rows = shown.map(column => [
    column.name,
    column.type,
    nulls(column.nulls),
    indexed.has(column.name) ? 'yes' : '',
  ])
  const heads = ['column', 'type', right('nulls'), 'indexed']
  return table(heads, rows) + more(layout.schema.length - shown.length, 'column')
}

function classTable({ classes }: Summary): string {
  if (classes.length === 0) return ''
  const most = Math.max(...classes.map(entry => entry.samples))
  const shown = classes.slice(0, CLASSES_SHOWN)
  const rows = shown.map(({ label, name, samples }) => [
    label,
    name ?? '',
    count(samples),
    bar(samples / most, 24),
  ])
  const lines = table([right('label'), 'class', right('samples'), ''], rows)
  return lines + more(classes.length - shown.length, 'class', 'classes')
}

function partTable({ parts }: Summary): string {
  if (parts.length === 0) return ''
  const shown = parts.slice(0, PARTS_SHOWN)
  const rows = shown.map(part => [part.name, count(part.count), bytes(part.bytes)])
  const lines = table(['shard', right('samples'), right('size')], rows)
  return lines + more(parts.length - shown.length, 'shard', 'shards')
}

function more(n: number, noun: string, plural?: string): string {
  return n > 0 ? `\n… and ${counted(n, noun, plural)} more (--json has all)` : ''
}
