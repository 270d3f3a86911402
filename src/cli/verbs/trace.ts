/** `millrace trace`: records traces, shows and converts them. */
import { group } from '../command.js'

export const trace = group({
  name: 'trace',
  summary: 'records what trainer and workers do, shows and converts such traces',
  about:
    'A trace has a track for each thread, with what it did and when. It opens in Perfetto (ui.perfetto.dev) as it is; names that end in ' +
    '.pfw are in the line format of DFTracer, names that end in .gz compressed. `run --trace FILE` makes one, too.',
  verbs: {
    show: async () => (await import('./trace/show.js')).show,
    convert: async () => (await import('./trace/convert.js')).convert,
    record: async () => (await import('./trace/record.js')).record,
  },
  examples: [
    ['millrace trace show run.json.gz', 'who did what for how long, and who waited'],
    ['millrace trace record 4711 --out run.json.gz', 'of a trainer that runs, until it ends or Ctrl-C'],
  ],
})
