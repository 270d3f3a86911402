/**
 * Cats and dogs in tar shards. Make the data first (`node examples/make-data.mjs`), then:
 *
 *   millrace run examples/cats.feed.ts
 *   millrace run examples/cats.feed.ts#val
 */
import { feed, image, int, sequential, shuffle, tar } from 'millrace'

export default feed({
  source: tar('shards/train-{0000..0015}.tar'),
  order: shuffle({ seed: 7 }),
  fields: {
    image: image('jpg|jpeg|png').randomResizedCrop(224).flip().normalize('imagenet'),
    label: int('cls'),
  },
  batch: 256,
  onError: { policy: 'drop', budget: 100 },
  variants: {
    val: {
      source: tar('shards/val-{0000..0003}.tar'),
      order: sequential(),
      fields: { image: image('jpg|jpeg|png').resize(256).centerCrop(224).normalize('imagenet') },
    },
  },
})
