// The files of a case: a feed as a user would write it, and the plugin of its store. Their names say nothing of the fault.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../support.mjs'

/** The feeds, by name: source, fields, bytes of a row. `at` makes a path, or a name of the slow store. */
const FEEDS = {
  rows: () => [{ synthetic: { count: 100_000, tensors: { shape: [4096], dtype: 'u8' } } }, array],
  npy: at => [{ npy: { path: at('rows.npy'), rows: 'axis' } }, array],
  small: at => [{ tar: at('small.tar') }, bytes],
  files: at => [{ files: at('small/*/*.bin') }, bytes],
  jpeg: at => [{ tar: at('jpeg.tar') }, picture],
  mixed: at => [{ tar: at('mixed.tar') }, picture],
  wide: () => [
    { synthetic: { count: 4000, tensors: { shape: [1_000_000], dtype: 'u8' } } },
    { data: { from: 'data', as: 'npy', shape: [1_000_000], dtype: 'u8' } },
  ],
}
const array = { data: { from: 'data', as: 'npy', shape: [4096], dtype: 'u8' } }
const bytes = { data: { from: 'bin', as: 'bytes', ragged: { max: 10_000 } } }
const picture = {
  image: {
    from: 'jpg',
    as: 'image',
    apply: [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }],
    dtype: 'u8',
  },
}

/**
 * Writes a setting into a folder; returns what the command line needs: the feed's path, and options.
 * @param setting feed, batch, workers, depth, store (undefined: local), fn (undefined: none), image (f32: normalised)
 */
export function writeCase(folder, data, setting) {
  mkdirSync(folder, { recursive: true })
  const at = name => (setting.store === undefined ? join(data, name) : `lake://${join(data, name)}`)
  let [source, fields] = FEEDS[setting.feed](at)
  const order = { shuffle: 'global', seed: 7 }
  if (setting.image === 'f32' && fields === picture) {
    const { image } = picture
    fields = { image: { ...image, apply: [...image.apply, { normalize: 'imagenet' }], dtype: 'f32' } }
  }
  const definition = { source, order, fields, batch: setting.batch }
  const url = file => JSON.stringify(String(pathToFileURL(join(root, file))))
  const called =
    setting.fn === undefined ? '' : 'map: (sample, random) => {\n    f(random)\n    return sample\n  },\n'
  const feed = join(folder, 'feed.mjs')
  writeFileSync(
    feed,
    [
      `import { feed } from ${url('dist/index.js')}`,
      ...(setting.fn === undefined
        ? []
        : [
            `import { slow } from ${url('bench/diagnose/functions.mjs')}`,
            `const f = slow(${JSON.stringify(setting.fn)})`,
          ]),
      `export default feed({\n  ...${JSON.stringify(definition)},\n  ${called}})`,
      '',
    ].join('\n'),
  )
  const options = ['--workers', String(setting.workers), '--depth', String(setting.depth ?? 4)]
  if (setting.store !== undefined) {
    const plugin = join(folder, 'store.mjs')
    const given = JSON.stringify(setting.store)
    writeFileSync(
      plugin,
      `import { slowStore } from ${url('bench/diagnose/slow-store.mjs')}\nexport default { stores: { lake: slowStore(${given}) } }\n`,
    )
    options.push('--plugin', plugin)
  }
  return { feed, options }
}
