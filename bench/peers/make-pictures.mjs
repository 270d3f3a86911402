// Makes the pictures that every contender reads: JPEGs of 224² and about 30 kB, in tar shards.
//
//   node bench/peers/make-pictures.mjs COUNT FOLDER

import { usableCores } from '../../build/core/system/process/limits.js'
import { pack } from '../../build/tools/prepare/pack/pack.js'

const [count, out] = [Number(process.argv[2]), process.argv[3]]
const images = { width: 224, height: 224, quality: 90, classes: 1000 }
await pack(
  { synthetic: { count, images } },
  { out, prefix: 'bench', division: { shards: 4 }, workers: usableCores() },
)
