/**
 * Shows one batch of a feed: its fields, their shapes and types, and the first ids.
 *
 *   node examples/look.mjs examples/blend.json
 *   node examples/look.mjs examples/segmentation.feed.mjs      (after node examples/make-data.mjs)
 */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fromJson, open } from 'millrace'

const file = resolve(process.argv[2] ?? 'examples/blend.json')
const feed = file.endsWith('.json')
  ? fromJson(JSON.parse(readFileSync(file, 'utf8')), dirname(file))
  : (await import(pathToFileURL(file).href)).default

const loader = open(feed, { steps: 1 })
for await (const batch of loader) {
  for (const name of Object.keys(feed.json.fields)) {
    const value = batch[name]
    const what = Array.isArray(value)
      ? 'strings'
      : 'offsets' in value
        ? `${value.values.constructor.name} and ${value.offsets.length} offsets`
        : value.constructor.name
    console.log(`${name}: [${batch.shape(name).join(', ')}] ${what}`)
  }
  console.log(`${batch.count} samples: ${batch.ids.slice(0, 3).join(', ')}, …`)
}
await loader.close()
