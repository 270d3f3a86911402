// What Node's iterator gives: for every batch, a hash of each field, the ids, and the state after it. Asked by
// test_engine.py, which compares it with what Python gets: node digests.mjs '{"feed", "options", "loops", "stop"}'
import { createHash } from 'node:crypto'
import { open } from '../../dist/index.js'

const { feed, options, loops = 1, stop = Infinity } = JSON.parse(process.argv[2])
const bytes = view => Buffer.from(view.buffer, view.byteOffset, view.byteLength)
const loader = open(feed, options)
await loader.ready
const batches = []
for (let loop = 0; loop < loops; loop++) {
  let step = 0
  for await (const batch of loader) {
    const fields = {}
    for (const name of Object.keys(feed.fields)) {
      const value = batch.get(name)
      const hash = createHash('sha256').update(JSON.stringify(batch.shape(name)))
      if (Array.isArray(value)) hash.update(JSON.stringify(value))
      else if ('offsets' in value) hash.update(bytes(value.values)).update(bytes(value.offsets))
      else hash.update(bytes(value))
      fields[name] = hash.digest('hex')
    }
    const { epoch, position, count, ids } = batch
    batches.push({
      fields,
      epoch,
      position,
      count,
      ids,
      positions: [...batch.positions],
      state: loader.state(),
    })
    if (++step === stop) break
  }
}
console.log(JSON.stringify(batches))
await loader.close()
