/**
 * A source through the whole engine: the same batches with any number of workers, in every order, and after a resume with other
 * workers, ranks and batch sizes.
 */
import { describe, expect, it } from 'vitest'
import {
  type AnyLoader,
  digests,
  type FeedJson,
  type OpenOptions,
  open,
  type State,
} from '../../../../test/support/engine.js'

const ORDERS: [string, FeedJson['order']][] = [
  ['as they lie', 'none'],
  ['global', { shuffle: 'global', seed: 5 }],
  ['by windows', { shuffle: { window: 8 }, seed: 5 }],
]

/** `json` has source and fields; the fields are all compared. */
export function isDelivered(
  name: string,
  json: () => Pick<FeedJson, 'source' | 'fields'>,
  options: OpenOptions = {},
): void {
  describe(`${name} through the engine`, () => {
    it.each(ORDERS)('in the order %s', async (_, order) => {
      const feed: FeedJson = { ...json(), order, batch: { size: 5, last: 'keep' } }
      const alone = await digests(feed, { ...options, workers: 0, epochs: 1 })
      expect(alone.length).toBeGreaterThan(0)
      expect(await digests(feed, { ...options, workers: 2, epochs: 1 })).toEqual(alone)

      const whole = await rows(feed, 5, { workers: 0, epochs: 1 })
      const first = await rows(feed, 3, { workers: 2 }, 2)
      const rest = await Promise.all(
        [0, 1].map(rank => rows(feed, 2, { workers: rank, rank, world: 2, epochs: 1, state: first.state })),
      )
      const found = [...first.found, ...rest.flatMap(({ found }) => found)].sort(([a], [b]) => a - b)
      expect(found).toEqual(whole.found)
    })
  })

  /** Position and id of each row, and the state after `steps`. */
  async function rows(
    feed: FeedJson,
    size: number,
    more: OpenOptions,
    steps = Number.POSITIVE_INFINITY,
  ): Promise<{ found: [number, string][]; state: State }> {
    const loader = open({ ...feed, batch: { size, last: 'keep' } }, { ...options, ...more }) as AnyLoader
    const found: [number, string][] = []
    try {
      let step = 0
      for await (const batch of loader) {
        batch.ids.forEach((id, i) => {
          found.push([batch.positions[i], id])
        })
        if (++step === steps) break
      }
      return { found, state: JSON.parse(JSON.stringify(loader.state())) }
    } finally {
      await loader.close()
    }
  }
}
