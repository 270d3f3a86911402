// A folder with the data that the feeds are over: data/, and pictures of ../images. Times of change are set, since an
// index knows those of its shard and a checkout has others.
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { feeds } from './feeds.mjs'

const here = import.meta.dirname
const images = join(here, '../images')

/** When shards were changed last, in seconds since 1970. */
const CHANGED = 1_700_000_000

const PICTURES = {
  cat: ['420.jpg', 'gray.jpg', 'progressive.jpg', 'rgb.png'],
  dog: ['exif-6.jpg', '422.jpg', 'palette.png', 'lossy.webp'],
  fox: ['444.jpg', 'size-17x33.jpg', 'gray-16.png', 'still.gif'],
}
const FORMATS = [
  ...[
    '411.jpg',
    '440.jpg',
    'cmyk.jpg',
    'exif-3.jpg',
    'exif-8.jpg',
    'restart.jpg',
    'size-7x5.jpg',
    'ycck.jpg',
  ],
  ...[
    'bilevel.png',
    'exif-6.png',
    'gray-alpha.png',
    'interlaced.png',
    'palette-4.png',
    'rgb-16.png',
    'rgba.png',
  ],
  ...[
    'alpha.webp',
    'lossless.webp',
    'moving.gif',
    'transparent.gif',
    'bits-16-565.bmp',
    'rle-8.bmp',
    'rgb.bmp',
  ],
  ...['cmyk.tif', 'deflate.tif', 'ycbcr-jpeg.tif', 'exif-7.avif', 'picture.avif'],
]

/** Fills an empty folder for a checkout of Millrace, the one whose package the user's module imports. */
export function fillFolder(folder, checkout) {
  for (const name of readdirSync(join(here, 'data')))
    cpSync(join(here, 'data', name), join(folder, name), { recursive: true })
  for (const name of readdirSync(join(folder, 'shards')))
    if (name.endsWith('.tar')) utimesSync(join(folder, 'shards', name), CHANGED, CHANGED)
  for (const [name, files] of [
    ...Object.entries(PICTURES).map(([n, f]) => [`pictures/${n}`, f]),
    ['formats', FORMATS],
  ]) {
    mkdirSync(join(folder, name), { recursive: true })
    for (const file of files) cpSync(join(images, file), join(folder, name, file))
  }
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(checkout, join(folder, 'node_modules/millrace'))
  for (const name of ['double', 'change'])
    writeFileSync(join(folder, `${name}.pickle`), pickled(folder, name))
}

/** A function of functions.py as the Python client pickles it: where to look for modules, then a reference. */
function pickled(folder, name) {
  const setting = `(dS'kind'\nS'function'\nsS'path'\n(lS'${folder}'\nasS'main'\nNsS'argv'\n(lS''\nas.`
  return `${setting}cfunctions\n${name}\n.`
}

/** A feed as its definition, in a folder that was filled so, with what is said about it. */
export function feedIn(folder, name, from = feeds) {
  const said = from[name]
  const more = 'definition' in said || 'module' in said ? said : { definition: said }
  const text = more.definition && JSON.stringify(more.definition).replaceAll('NAMED', folder)
  return { options: {}, loops: 2, ...more, definition: text && JSON.parse(text) }
}

/**
 * A shard with its index from data/, in which the label of a sample is another than when it was indexed: an index that is
 * used says what the label was, one that is built anew what it is. The index is still good: it compares size, time and
 * the members at both ends of a sample.
 */
export function relabelledShard(folder) {
  cpSync(join(here, 'data/shards'), join(folder, 'relabelled'), { recursive: true })
  const file = join(folder, 'relabelled', RELABELLED.shard)
  const bytes = readFileSync(file)
  bytes.write(RELABELLED.label, bytes.indexOf(RELABELLED.member) + 512)
  writeFileSync(file, bytes)
  utimesSync(file, CHANGED, CHANGED)
  return file
}

const RELABELLED = { shard: 'train-0000.tar', member: 's003.cls', label: '8' }
