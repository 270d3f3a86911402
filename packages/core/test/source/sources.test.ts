/** Every source and combinator through the conformance suite. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { writeFiles } from '../../../../test/support/folder.js'
import { type TarEntry, tarFile } from '../../../../test/support/tar.js'
import { conforms } from './conformance.js'

/** Two shards of `n` samples with keys from `start` on. */
function shard(start: number, n: number, note = ''): Buffer {
  const entries: TarEntry[] = [{ name: '__info__', data: 'x' }]
  for (let i = start; i < start + n; i++) {
    entries.push({ name: `s/${i}.cls`, data: `${i % 3}` })
    entries.push({ name: `s/${i}.JPG`, data: `jpeg ${i}${note}`.padEnd(100 + i) })
    if (i % 2) entries.push({ name: `s/${i}.json.gz`, data: gzipSync(`{"i":${i}}`) })
    entries.push({ name: `s/${i}.mask.png`, data: `mask ${i}`.padEnd(90) })
  }
  return tarFile(entries)
}

const shards = (root: string): void => {
  writeFiles(root, {
    'train-0000.tar': shard(0, 5),
    'train-0001.tar': shard(5, 3),
    'train-0002.tar': shard(8, 1),
  })
}
const longer = (root: string): void => {
  writeFileSync(join(root, 'train-0001.tar'), shard(5, 3, '!'.repeat(199)))
}

const pictures = (root: string): void =>
  writeFiles(root, {
    'pets/dog/2.jpg': 'dog two',
    'pets/dog/1.PNG': 'dog one',
    'pets/dog/.hidden.jpg': 'x',
    'pets/dog/notes.txt': 'x',
    'pets/cat/deep/er/3.jpeg': 'cat three',
    'pets/cat-big/4.webp': 'big cat four',
    'pets/zebra/é.jpg': 'zebra',
    'pets/loose.jpg': 'x',
  })

const tarJson = { tar: 'train-{0000..0002}.tar' }
const tarCase = { wanted: ['jpg', 'cls', 'json', 'mask.png'], write: shards, change: longer }

conforms({
  name: 'tar',
  json: tarJson,
  ...tarCase,
  count: 9,
  first: { cls: '0', jpg: 'jpeg 0'.padEnd(100) },
})

conforms({
  name: 'folder',
  json: { folder: 'pets' },
  wanted: ['image', 'label', 'class', 'path'],
  write: pictures,
  change: root => writeFiles(root, { 'pets/dog/9.jpg': 'one more' }),
  count: 5,
  first: { image: 'big cat four', label: '1', class: 'cat-big', path: 'cat-big/4.webp' },
})

conforms({
  name: 'flat folder',
  json: { folder: { path: 'flat', extensions: ['png', '.jpg'] } },
  wanted: ['image', 'path'],
  write: root => writeFiles(root, { 'flat/b.png': 'b', 'flat/a.jpg': 'a', 'flat/c.gif': 'c' }),
  change: root => writeFiles(root, { 'flat/d.png': 'd' }),
  count: 2,
  first: { image: 'a', path: 'a.jpg' },
})

conforms({
  name: 'files',
  json: { files: ['data/**/*.npy', 'data/x/one.txt'] },
  wanted: ['npy', 'txt', 'file', 'path', 'name'],
  write: root =>
    writeFiles(root, {
      'data/b.npy': 'bbb',
      'data/x/y/a.npy': 'aaa',
      'data/x/one.txt': 'one',
      'data/x/two.txt': 'two',
      'data/.h/c.npy': 'hidden',
    }),
  change: root => writeFiles(root, { 'data/x/new.npy': 'new' }),
  count: 3,
  first: { npy: 'bbb', file: 'bbb', path: 'b.npy', name: 'b.npy' },
})

conforms({
  name: 'synthetic images',
  json: { synthetic: { count: 12, images: { width: 40, height: 30, classes: 5 } } },
  wanted: ['jpg', 'cls'],
  write: () => {},
  count: 12,
  first: { cls: '0' },
})

conforms({
  name: 'synthetic tensors',
  json: { synthetic: { count: 7, tensors: { shape: [2, 3], dtype: 'f32' } } },
  wanted: ['data'],
  write: () => {},
  count: 7,
  first: {},
})

conforms({
  name: 'synthetic tokens',
  json: { synthetic: { count: 3, tokens: { length: 16, vocabulary: 100_000 } } },
  wanted: ['tokens'],
  write: () => {},
  count: 3,
  first: {},
})

conforms({
  name: 'concat',
  json: { concat: [{ tar: 'train-0001.tar' }, { tar: 'train-0000.tar' }, { tar: 'train-0001.tar' }] },
  ...tarCase,
  count: 11,
  first: { cls: '2' },
})

conforms({
  name: 'zip',
  json: { zip: [tarJson, { synthetic: { count: 9, tensors: { shape: [4] } } }] },
  ...tarCase,
  wanted: ['jpg', 'data'],
  count: 9,
  first: { jpg: 'jpeg 0'.padEnd(100) },
})

conforms({
  name: 'subset by range',
  json: { subset: { source: tarJson, range: [2, 7] } },
  ...tarCase,
  count: 5,
  first: { cls: '2' },
})

conforms({
  name: 'subset by indices',
  json: { subset: { source: tarJson, indices: [8, 1, 2, 0] } },
  ...tarCase,
  count: 4,
  first: { cls: '2', jpg: 'jpeg 8'.padEnd(108) },
})

conforms({
  name: 'subset by conditions',
  json: { subset: { source: tarJson, where: { cls: { '>=': 1 }, shard: 'train-0000.tar' } } },
  ...tarCase,
  count: 3,
  first: { cls: '1' },
})

conforms({
  name: 'split',
  json: { split: { source: tarJson, folds: 2, take: 0 } },
  ...tarCase,
  count: 4,
  first: {},
})

conforms({
  name: 'chat, pairs',
  json: { chat: { source: { jsonl: 'pairs.jsonl' }, tokenizer: 'millrace-4k', length: 64, pairs: true } },
  wanted: ['prompt', 'chosen', 'rejectedMask'],
  write: folder =>
    writeFileSync(
      join(folder, 'pairs.jsonl'),
      Array.from({ length: 5 }, (_, i) => `{"prompt": "${i}?", "chosen": " yes", "rejected": " no"}\n`).join(
        '',
      ),
    ),
  count: 5,
  first: {},
})
