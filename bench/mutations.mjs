// Breaks the code in 30 places and lists which tests notice. Run it in a clone of its own, since it edits
// files (and puts them back), before and after a change of the tests; results/mutations.md has the latest.
//
//   node bench/mutations.mjs out.json [expression that files must match]
//   node bench/mutations.mjs --table before.json after.json
//
// A mutation: the file, what stands there once, what takes its place, and the tests that should notice. Tests of Python are
// files below python/tests. `built`: the tests run what is built, so it is built anew.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

const MUTATIONS = [
  // core
  {
    file: 'packages/core/order/steps.ts',
    was: 'this.first = position + rank * run + Math.min(rank, longer)',
    is: 'this.first = position + rank * run',
    tests: ['packages/core/test/order/steps.test.ts'],
  },
  {
    file: 'packages/core/order/weights.ts',
    was: 'if (weight(row) > 0) shares[row] = 1',
    is: 'if (weight(row) >= 0) shares[row] = 1',
    tests: ['packages/core/test/order/weights.test.ts'],
  },
  {
    file: 'packages/core/order/permutation.ts',
    was: 'for (let size = 1; size < n; size *= 2) bits++',
    is: 'for (let size = 1; size <= n; size *= 2) bits++',
    tests: ['packages/core/test/order/permutation.test.ts'],
  },
  {
    file: 'packages/core/store/merge.ts',
    was: 'nextEnd - read.offset <= most',
    is: 'nextEnd - read.offset <= most + 1',
    tests: ['packages/core/test/store/merge.test.ts'],
  },
  {
    file: 'packages/core/store/block-place.ts',
    was: 'if (minima[head] === left) head++',
    is: 'if (minima[head] < left) head++',
    tests: ['packages/core/test/store/block-place.test.ts'],
  },
  {
    file: 'packages/core/batch/close.ts',
    was: 'slot.rows[to] = slot.rows[from]',
    is: 'slot.rows[to] = from',
    tests: ['packages/core/test/batch/close.test.ts'],
  },
  {
    file: 'packages/core/batch/ring.ts',
    was: 'if (by !== 0) return by === chunk + 1 ? slot : false',
    is: 'if (by !== 0) return slot',
    tests: ['packages/core/test/batch/ring-deaths.test.ts'],
  },
  {
    file: 'packages/core/codec/shuffle.ts',
    was: 'const rest = count * elementBytes\n  if (rest < from.length)',
    is: 'const rest = count * elementBytes\n  if (rest + 1 < from.length)',
    tests: ['packages/core/test/codec/shuffle.test.ts'],
  },
  {
    file: 'packages/core/codec/lz/blosclz.ts',
    was: 'offset = (from[at] << 8) + from[at + 1] + NEAR',
    is: 'offset = (from[at] << 8) + from[at + 1]',
    tests: ['packages/core/test/codec/decompress.test.ts', 'packages/core/test/codec/fuzz.test.ts'],
  },
  {
    file: 'packages/core/define/check/validate.ts',
    was: 'if (new Set(classes).size < classes.length) {',
    is: 'if (new Set(classes).size + 1 < classes.length) {',
    tests: ['packages/core/test/define/validate.test.ts'],
  },
  {
    file: 'packages/core/source/find/glob.ts',
    was: ".replace(/^!/, '^')",
    is: '',
    tests: ['packages/core/test/source/braces.test.ts'],
  },
  {
    file: 'packages/core/engine/make/row-maker.ts',
    was: 'for (let next = row + 1; next < to; next++) {',
    is: 'for (let next = row + 2; next < to; next++) {',
    tests: ['packages/core/test/engine/functions.test.ts'],
    built: true,
  },
  // formats
  {
    file: 'packages/formats/tfrecord/record.ts',
    was: 'wordAt(bytes, at) + wordAt(bytes, at + 4) * 2 ** 32',
    is: 'wordAt(bytes, at)',
    tests: ['packages/formats/test/tfrecord'],
  },
  {
    file: 'packages/formats/parquet/statistics.ts',
    was: "if (sign === '>=') return most >= bound",
    is: "if (sign === '>=') return most > bound",
    tests: ['packages/formats/test/parquet/statistics.test.ts'],
  },
  {
    file: 'packages/formats/tar/scan.ts',
    was: "type === '0' && size <= SMALL ? size : 0",
    is: "type === '0' && size < SMALL ? size : 0",
    tests: ['packages/formats/test/tar/tar-scan.test.ts', 'packages/formats/test/tar/tar.test.ts'],
  },
  {
    file: 'packages/formats/zarr/grid.ts',
    was: 'number = number * grid[axis] + place[axis]',
    is: 'number = number * grid[0] + place[axis]',
    tests: ['packages/formats/test/zarr/zarr.test.ts'],
  },
  {
    file: 'packages/formats/npz/zip.ts',
    was: 'if (at + END_BYTES + tail.readUInt16LE(at + 20) !== tail.length) continue',
    is: '',
    tests: ['packages/formats/test/arrays/zip.test.ts'],
  },
  // pixels
  {
    file: 'packages/pixels/transform/choose/crop.ts',
    was: 'random.int(padded.width - to.width + 1)',
    is: 'random.int(padded.width - to.width)',
    tests: ['packages/pixels/test/transform/image.test.ts', 'packages/pixels/test/transform/choose'],
  },
  {
    file: 'packages/pixels/transform/place/weights.ts',
    was: 'const high = Math.min(input - 1, to - 1)',
    is: 'const high = Math.min(input, to - 1)',
    tests: ['packages/pixels/test/transform/place.test.ts', 'packages/pixels/test/transform/resize.test.ts'],
  },
  {
    file: 'packages/pixels/decode/array/npy.ts',
    was: 'bytes *= n\n    return stride',
    is: 'bytes += n\n    return stride',
    tests: ['packages/pixels/test/decode/npy.test.ts'],
  },
  // llm
  {
    file: 'packages/llm/tokens/pack/places.ts',
    was: 'return tokens === 0 ? 0 : tokens +',
    is: 'return tokens +',
    tests: ['packages/llm/test/tokens/packed.test.ts'],
  },
  {
    file: 'packages/llm/chat/align.ts',
    was: 'return rstrip ? spacesBehind(text, to) : to',
    is: 'return to',
    tests: ['packages/llm/test/chat/align.test.ts'],
  },
  {
    file: 'packages/llm/tokens/pack/best-fit.ts',
    was: 'before[rest - 1] <= block * BLOCK',
    is: 'before[rest - 1] < block * BLOCK',
    tests: ['packages/llm/test/tokens/best-fit.test.ts'],
  },
  // observe
  {
    file: 'packages/observe/account/intervals.ts',
    was: '(squares * blocks) / (blocks - 1)',
    is: 'squares * blocks',
    tests: ['packages/observe/test/account/account.test.ts'],
  },
  {
    file: 'packages/observe/metrics/prometheus.ts',
    was: ".replaceAll('\"', '\\\\\"')",
    is: '',
    tests: ['packages/observe/test/metrics'],
  },
  // tools
  {
    file: 'packages/tools/bench/statistics.ts',
    was: 'Math.sqrt(squares / (count - 1) / count)',
    is: 'Math.sqrt(squares / count / count)',
    tests: ['packages/tools/test/bench'],
  },
  {
    file: 'packages/tools/prepare/pack/tar-writer.ts',
    was: 'this.fill(2 * BLOCK)',
    is: 'this.fill(BLOCK)',
    tests: ['packages/tools/test/prepare/tar-writer.test.ts'],
  },
  // Python
  {
    file: 'python/millrace/_client/leases.py',
    was: 'if held.get(slot) is not lent:',
    is: 'if slot not in held:',
    tests: ['python/tests/client/test_leases.py'],
  },
  {
    file: 'python/millrace/_spans/lane.py',
    was: 'span[5] += rows',
    is: 'span[5] = rows',
    tests: ['python/tests/spans/test_spans.py'],
  },
  {
    file: 'python/millrace/_view/meter.py',
    was: 'if len(self._pending) > self.MOST:\n            self._pending.popleft()',
    is: 'if len(self._pending) > self.MOST:\n            self._pending.pop()',
    tests: ['python/tests/view/test_meter.py'],
  },
]

/** Runs the tests of some mutations together: the names of those that fail, by the file of the test. */
function failing(tests) {
  const found = new Map()
  const add = (file, name) => found.set(file, [...(found.get(file) ?? []), name])
  const python = tests.filter(path => path.startsWith('python/')).map(path => path.slice('python/'.length))
  if (python.length > 0) {
    const { stdout } = run(
      'python3',
      ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-rfE', ...python],
      'python',
    )
    for (const [, file, name] of stdout.matchAll(/^(?:FAILED|ERROR) (\S+?)::(\S+)/gm))
      add(`python/${file}`, name)
  }
  const others = tests.filter(path => !path.startsWith('python/'))
  if (others.length > 0) {
    const report = join(tmpdir(), `mutations-${process.pid}.json`)
    const args = ['--reporter=json', `--outputFile=${report}`, '--testTimeout=300000']
    run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args, ...others])
    for (const { name, status, assertionResults } of JSON.parse(readFileSync(report, 'utf8')).testResults) {
      const file = relative(root, name)
      const bad = assertionResults.filter(({ status }) => status === 'failed')
      for (const { fullName } of bad) add(file, fullName)
      if (bad.length === 0 && status === 'failed') add(file, 'all of it')
    }
  }
  return found
}

function run(command, args, folder = '.') {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' }
  return spawnSync(command, args, { cwd: join(root, folder), encoding: 'utf8', env, maxBuffer: 1 << 28 })
}

/** Mutations of different files, whose tests are different as well, are tried at once: it is the start of a test run that takes time. */
function measure(out, part) {
  const wanted = MUTATIONS.filter(({ file }) => new RegExp(part).test(file))
  const groups = [
    wanted.filter(({ built }) => !built),
    ...wanted.filter(({ built }) => built).map(one => [one]),
  ]
  const results = []
  for (const group of groups.filter(({ length }) => length > 0)) {
    const texts = new Map(group.map(({ file }) => [file, readFileSync(join(root, file), 'utf8')]))
    for (const { file, was } of group) {
      const times = texts.get(file).split(was).length - 1
      if (times !== 1) throw new Error(`${file}: the text stands there ${times} times: ${was}`)
    }
    try {
      for (const { file, was, is } of group)
        writeFileSync(
          join(root, file),
          texts.get(file).replace(was, () => is),
        )
      if (group[0].built) run(process.execPath, ['scripts/build.mjs'])
      const found = failing(group.flatMap(({ tests }) => tests))
      for (const { file, was, is, tests } of group) {
        const noticed = [...found].flatMap(([of, names]) =>
          tests.some(path => of.startsWith(path)) ? names : [],
        )
        results.push({ file, was, is, noticed })
        console.log(`${noticed.length} notice  ${file}`)
      }
    } finally {
      for (const [file, text] of texts) writeFileSync(join(root, file), text)
    }
    writeFileSync(out, JSON.stringify(results, null, 1))
  }
  if (wanted.some(({ built }) => built)) run(process.execPath, ['scripts/build.mjs'])
}

function table(before, after) {
  const [then, now] = [before, after].map(path => JSON.parse(readFileSync(path, 'utf8')))
  const code = text => `\`${text.replace(/\s+/g, ' ').replaceAll('|', '\\|') || ' '}\``
  console.log('| file | was | is | before | after | one that notices |\n|---|---|---|--:|--:|---|')
  for (const { file, was, is, noticed } of now) {
    const earlier = then.find(one => one.file === file && one.was === was)
    const one = (noticed[0] ?? '').split('\n')[0].replaceAll('|', '\\|').slice(0, 90)
    console.log(
      `| ${file} | ${code(was)} | ${code(is)} | ${earlier?.noticed.length ?? '?'} | ${noticed.length} | ${one} |`,
    )
  }
}

const [first, second, third] = process.argv.slice(2)
if (first === '--table') table(second, third)
else if (first !== undefined) measure(first, second ?? '')
else console.error('node bench/mutations.mjs OUT.json [PART], or --table BEFORE.json AFTER.json')
