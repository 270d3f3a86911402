/** `millrace trace`: records traces. */
import { group } from '../command.js'

export const trace = group({
  name: 'trace',
  summary: 'records what trainer and workers do',
  about:
    'A trace has a track for each thread, with what it did and when. It opens in Perfetto (ui.perfetto.dev) as it is; names that end in ' +
    '.pfw are in the line format of DFTracer, names that end in .gz compressed. `run --trace FILE` makes one, too.',
  verbs: {
    record: async () => (await import('./trace/record.js')).record,
  },
  examples: [
    ['millrace trace record 4711 --out run.json.gz', 'of a trainer that runs, until it ends or Ctrl-C'],
  ],
})
