// Functions of a user's, on fields and over the sample, plain and asynchronous.
import { feed, int, shuffle, synthetic, text } from 'millrace'

export default feed({
  source: synthetic({ count: 24, images: { width: 8, height: 8, classes: 16 } }),
  order: shuffle({ seed: 11 }),
  map: (sample, random) => ({ ...sample, note: `drawn ${random.int(100)}, ${random.normal().toFixed(3)}` }),
  fields: {
    label: int('cls').map(async (value, random) => value * 10 + random.int(10)),
    note: text('note').ragged({ max: 64 }),
  },
  batch: { size: 5, last: 'keep' },
})
