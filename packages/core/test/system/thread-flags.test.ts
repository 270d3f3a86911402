/** Which flags of the program its threads get. */
import { expect, test } from 'vitest'
import { threadFlags } from '../../system/node/thread-flags.js'

test.each([
  ['--input-type=module -e code', ''],
  ['--import tsx --inspect=9229', '--import tsx'],
  ['--import=tsx -r ./a.js --max-old-space-size=100', '--import=tsx -r ./a.js'],
  ['--expose-gc --conditions dev --test', '--conditions dev'],
  ['--import', '--import'],
])('%s', (given, expected) => {
  expect(threadFlags(given.split(' ')).join(' ')).toBe(expected)
})
