/**
 * An image, and a mask and boxes that move with it. Make the data first (`node examples/make-data.mjs`), then:
 *
 *   node examples/look.mjs segmentation.feed.mjs      the shapes of one batch
 *   millrace run examples/segmentation.feed.mjs       a whole epoch
 */
import { boxes, feed, image, mask, shuffle, tar } from 'millrace'

export default feed({
  source: tar('shards/segments-{0000..0001}.tar'),
  order: shuffle({ seed: 7 }),
  fields: {
    image: image('jpg')
      .randomResizedCrop(64, { scale: [0.25, 1] })
      .flip()
      .colorJitter({ brightness: 0.2, contrast: 0.2 })
      .normalize('half'),
    // The same crop and flip, by nearest neighbour; colours are left alone.
    mask: mask('mask.png').follow('image'),
    // Rows [x1, y1, x2, y2, class], clipped to the crop; those with less than 16 pixels left are dropped.
    boxes: boxes('boxes.json').follow('image').shape(8, 5).minArea(16),
  },
  batch: 16,
})
