/** Rows of tokens through the whole engine: any workers, orders and ranks, from any place on. */

import { temporaryFolder } from '../../../../test/support/folder.js'
import { documentsOf, writeMegatron, writeNanogpt } from '../../../../test/support/tokens.js'
import { conforms } from '../../../core/test/source/conformance.js'
import { isDelivered } from '../../../core/test/source/delivered.js'

const folder = temporaryFolder()
writeMegatron(folder, 'a', documentsOf([7, 0, 30, 1, 12]))
writeMegatron(folder, 'b', documentsOf([40, 3], 1000))
writeNanogpt(folder, 'n.bin', documentsOf([60], 2000))

const row = { as: 'npy' as const, dtype: 'i64' as const, shape: [4] }
const fields = { input: { from: 'input', ...row }, target: { from: 'target', ...row } }

isDelivered('a stream of tokens', () => ({ source: { tokens: { path: ['a', 'b'], length: 4 } }, fields }), {
  root: folder,
})

isDelivered(
  'a blend of streams',
  () => ({
    source: {
      blend: {
        entries: [
          { source: { tokens: { path: ['a', 'b'], length: 4 } }, weight: 2, name: 'web' },
          {
            source: { tokens: { path: 'n.bin', dtype: 'u16' as const, length: 4 } },
            weight: 1,
            name: 'books',
          },
        ],
      },
    },
    fields,
  }),
  { root: folder },
)

const borders = { from: 'cuSeqlens', as: 'npy' as const, dtype: 'i32' as const, shape: [4] }
isDelivered(
  'documents that are packed',
  () => ({
    source: { tokens: { path: ['a', 'b'], length: 4, pack: 'bestFit' } },
    fields: { ...fields, borders, documents: { from: 'cuCount', as: 'int' as const } },
  }),
  { root: folder },
)

isDelivered(
  'documents as they are',
  () => ({
    source: { tokens: { path: ['a', 'b'], length: 4, pack: 'document', ragged: true } },
    fields: { input: { from: 'input', ...row, ragged: { max: 4 } } },
  }),
  { root: folder },
)

const files = (root: string): void => {
  writeMegatron(root, 'a', documentsOf([7, 0, 30, 1, 12]))
  writeMegatron(root, 'b', documentsOf([40, 3], 1000))
}

conforms({
  name: 'tokens',
  json: { tokens: { path: ['a', 'b'], length: 4, phase: 0 } },
  wanted: ['input', 'target', 'lossMask'],
  write: files,
  change: root => writeMegatron(root, 'b', documentsOf([40, 4], 1000)),
  count: 23,
  first: {},
})

conforms({
  name: 'packed tokens',
  json: { tokens: { path: ['a', 'b'], length: 4, pack: 'bestFit' } },
  wanted: ['input', 'target', 'segments', 'cuCount'],
  write: files,
  change: root => writeMegatron(root, 'b', documentsOf([39, 4], 1000)),
  count: 22,
  first: {},
})

conforms({
  name: 'tokens of a document each',
  json: { tokens: { path: ['a', 'b'], length: 4, pack: 'document' } },
  wanted: ['input', 'target'],
  write: files,
  change: root => writeMegatron(root, 'b', documentsOf([39, 4], 1000)),
  count: 24,
  first: {},
})
