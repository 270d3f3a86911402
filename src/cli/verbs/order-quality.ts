/** `millrace order-quality`: how well a feed's order mixes, and what it costs to read. */
import type { UnitFigures } from '../../engine/plan/unit-price.js'
import type { OrderQuality } from '../../order/quality.js'
import { storedBytes } from '../../source/row-reader.js'
import type { Source } from '../../source/source.js'
import { ALLOW_CODE, command, PLUGIN, UsageError } from '../command.js'
import { Progress } from '../progress.js'
import { table } from '../table.js'
import { count } from '../units.js'

export const orderQuality = command({
  name: 'order-quality',
  summary: "scores a feed's order against a global shuffle",
  about:
    'Compares the order of a feed with the global shuffle of the same samples: 1 is as good, about 0 is unshuffled. ' +
    'Mixing is how far apart neighbours of the source come; spread, from how many places a batch is drawn; entropy, ' +
    'how many classes meet in a batch. Then the bytes that are read for each byte that is used. Where rows share units, ' +
    'such as row groups or chunks, a second table says how often each is loaded.',
  args: [{ name: 'FEED', about: 'the definition of a feed: a file, FILE#VARIANT, or JSON' }],
  options: {
    epoch: { type: 'count', default: 0, about: 'the epoch to look at' },
    label: {
      type: 'text',
      value: 'COLUMN',
      about: 'column that holds the class (label or cls, if the index has it)',
    },
    cache: { type: 'bytes', value: 'BYTES', about: 'memory of the cache that units of many rows go through' },
    ...ALLOW_CODE,
    ...PLUGIN,
  },
  examples: [['millrace order-quality cats.json', 'the order of its training set, in a second or so']],
  async run({ args: [path], values }) {
    const [{ givenPlugins, normalFeed }, { planFeed }, { usualCache }, { cachedSources }] = await Promise.all(
      [
        import('../locate.js'),
        import('../../engine/plan/plan.js'),
        import('../../engine/plan/budget.js'),
        import('../../engine/plan/unit-facts.js'),
      ],
    )
    const [{ unitFigures }, { orderQuality }, { WindowOrder }] = await Promise.all([
      import('../../engine/plan/unit-price.js'),
      import('../../order/quality.js'),
      import('../../order/window.js'),
    ])
    const plugins = await givenPlugins(values.plugin)
    const feed = await normalFeed(path, values['allow-code'], plugins)
    const progress = new Progress('indexing', { unit: 'bytes' })
    const plan = await planFeed(feed, {
      ...(values.label !== undefined && { indexed: [values.label] }),
      progress: (...told) => progress.set(...told),
    })
    progress.end()
    const batch = feed.batch.global ?? feed.batch.size ?? 1
    const cached = cachedSources(plan)
    const figures = unitFigures(cached, values.cache ?? usualCache(cached))
    const results = plan.attached.map((source, i) => {
      const order = plan.order.sources[i]
      const labels = labelsOf(source, values.label)
      const blocks = order instanceof WindowOrder ? order.blocks : undefined
      const units = figures[i]
      const window = feed.order.kind === 'window' ? feed.order.window : 0
      return {
        source: plan.sources.length === 1 ? (feed.order.kind as string) : `source ${i + 1}`,
        samples: source.count,
        ...orderQuality(order, source.count, {
          batch,
          epoch: values.epoch,
          ...(labels && { label: row => labels.at(row) }),
          bytesOf: row => storedBytes(source, row, source.columns),
          ...(blocks && { blocks }),
          ...(units && { units: source.unitStarts }),
          cacheRows: units?.cacheRows ?? window,
        }),
        ...(units && { units }),
      }
    })
    return {
      json: { order: feed.order, batch, sources: results },
      text: [describe(results), ...describeUnits(results)].join('\n\n'),
    }
  },
})

function labelsOf(source: Source, column: string | undefined): ReturnType<Source['index']> {
  if (column === undefined) return source.index('label') ?? source.index('cls')
  const labels = source.index(column)
  if (labels === undefined) {
    throw new UsageError(
      `--label: the index has no column "${column}"; it has members of at most 64 bytes, such as "cls", or the label of a folder`,
    )
  }
  return labels
}

type Result = { source: string; samples: number; units?: UnitFigures } & OrderQuality

const figure = (n: number | undefined) => (n === undefined ? '–' : n.toFixed(2))
const right = (title: string) => ({ title, align: 'right' as const })

/** What the order costs where rows share units: a table for the sources that have such. */
function describeUnits(results: readonly Result[]): string[] {
  const rows = results.flatMap(({ source, units, loadsPerUnit }) =>
    units === undefined
      ? []
      : [
          [
            source,
            count(units.units),
            ...[units.rowsPerUnit, units.unitsPerWindow, loadsPerUnit, units.globalLoads].map(figure),
          ],
        ],
  )
  const titles = ['units', 'rows a unit', 'units a window', 'loads a unit', 'global: loads a unit']
  return rows.length === 0 ? [] : [table(['order', ...titles.map(right)], rows)]
}

function describe(results: readonly Result[]): string {
  return table(
    [
      'order',
      ...[
        'samples',
        'score',
        'mixing',
        'spread',
        'entropy',
        'read/used',
        'by blocks',
        'global by blocks',
      ].map(right),
    ],
    results.map(({ source, samples, score, mixing, spread, entropy, bytesReadPerByteUsed: read }) => [
      source,
      count(samples),
      ...[score, mixing, spread, entropy, read.samples, read.blocks, read.globalBlocks].map(figure),
    ]),
  )
}
