// Moves src/ and test/ into packages/: run once, on a clean tree, then by hand what it names. Only paths change.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Folders and files of src/ and where they go, the longest first; what is not named goes to core. */
const SOURCE = {
  'src/decode': 'pixels/decode',
  'src/transform': 'pixels/transform',
  'src/tokenize': 'llm/tokenize',
  'src/chat': 'llm/chat',
  'src/source/tokens': 'llm/tokens',
  'src/source/chat': 'llm/conversations',
  'src/prepare/tokenize': 'llm/prepare/tokenize',
  'src/prepare/tokens': 'llm/prepare/tokens',
  'src/observe': 'observe',
  'src/tune': 'observe/tune',
  'src/diagnose': 'observe/diagnose',
  'src/dashboard': 'observe/dashboard',
  'src/prepare': 'tools/prepare',
  'src/bench': 'tools/bench',
  'src/cli': 'tools/cli',
  'src/device': 'cuda/device',
  'src/system/cuda': 'cuda/driver',
  'src/index.ts': 'all/index.ts',
  src: 'core',
}
for (const name of [
  'arrays',
  'arrow',
  'files',
  'hdf5',
  'lines',
  'litdata',
  'mds',
  'npy',
  'npz',
  'packed',
  'parquet',
  'pathed',
  'safetensors',
  'shards',
  'tar',
  'tfrecord',
  'zarr',
])
  SOURCE[`src/source/${name}`] = `formats/${name}`

/** Folders of test/ that go beside their package. */
const TESTS = {
  'test/observe': 'observe/test',
  'test/tune': 'observe/test/tune',
  'test/diagnose': 'observe/test/diagnose',
  'test/dashboard': 'observe/test/dashboard',
  'test/decode': 'pixels/test/decode',
  'test/transform': 'pixels/test/transform',
  'test/tokenize': 'llm/test/tokenize',
  'test/chat': 'llm/test/chat',
  'test/source/tokens': 'llm/test/tokens',
  'test/source/chat': 'llm/test/conversations',
  'test/prepare/tokenize': 'llm/test/prepare/tokenize',
  'test/prepare/tokens': 'llm/test/prepare/tokens',
  'test/prepare': 'tools/test/prepare',
  'test/bench': 'tools/test/bench',
  'test/cli': 'tools/test/cli',
  'test/device': 'cuda/test/device',
  'test/system/cuda': 'cuda/test/driver',
}
for (const room of [
  'basics',
  'batch',
  'codec',
  'define',
  'deliver',
  'engine',
  'order',
  'source',
  'spans',
  'store',
  'system',
])
  TESTS[`test/${room}`] = `core/test/${room}`
for (const name of Object.keys(SOURCE).filter(name => SOURCE[name].startsWith('formats/')))
  TESTS[name.replace('src', 'test')] = SOURCE[name].replace('formats/', 'formats/test/')

const TABLE = Object.entries({ ...SOURCE, ...TESTS }).sort(([a], [b]) => b.length - a.length)

/** Where a path of the repository goes: itself, where it stays. */
function moved(path) {
  const [from, to] = TABLE.find(([from]) => path === from || path.startsWith(`${from}/`)) ?? []
  return from === undefined ? path : join('packages', to, path.slice(from.length))
}

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n')
const folders = new Set(
  files.flatMap(file => file.split('/').map((_, i, parts) => parts.slice(0, i).join('/'))),
)
const known = new Set(files)
const by = hands => process.stderr.write(`${hands}\n`)

/** The file that a path means, as it is called in git: `x.js` is `x.ts`. */
function fileOf(path) {
  const names = [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx'), `${path}.ts`]
  return names.find(name => known.has(name)) ?? (folders.has(path) ? path : undefined)
}

/** The new path of what an old one means; undefined: it means nothing that moves. */
function target(old) {
  const [, top, below] = /^(build|dist)\/(.+)$/.exec(old) ?? []
  if (top === undefined) {
    const file = fileOf(old)
    if (file === undefined) return undefined
    if (folders.has(file)) {
      const below = files.filter(name => name.startsWith(`${file}/`))
      if (below.every(name => moved(name) === name)) return undefined
      const packages = new Set(below.map(name => moved(name).split('/').slice(0, 2).join('/')))
      if (packages.size > 1) return null
    }
    return replaceEnd(moved(file), file, old)
  }
  if (top === 'dist' && /^(index|cli\/main|order\/index)\./.test(below)) return undefined
  const file = fileOf(`src/${below}`)
  return file === undefined
    ? undefined
    : `${top}/${replaceEnd(moved(file), file, `src/${below}`).slice('packages/'.length)}`
}
/** `to`, which stands for `file`, with the ending that `written` has. */
const replaceEnd = (to, file, written) => {
  if (file === written) return to
  const ending = file.slice(0, -3) === written ? '' : written.slice(written.lastIndexOf('.'))
  return to.replace(/\.tsx?$/, ending)
}

const TEXT = /\.(ts|tsx|mts|mjs|js|py|md|json|toml|sh|css|html|cu|cuh|h|yml)$|^\.ci\//
const work = []
for (const file of files) {
  const to = moved(file)
  if (
    !TEXT.test(file) ||
    file === 'scripts/move-to-packages.mjs' ||
    /^test\/golden\/.*\.json$|^bench\/results|package-lock|CHANGELOG/.test(file)
  ) {
    if (to !== file) work.push([file, to])
    continue
  }
  const before = readFileSync(file, 'utf8')
  // Paths relative to the file, in quotes or after an opening bracket.
  let after = before.replace(/(['"`(=])(\.{1,2}\/[\w./@{}*-]*)/g, (whole, open, path) => {
    const old = join(dirname(file), path)
    if (old.startsWith('..') || path === './' || path === '../') return whole
    const now = target(old.replace(/\/$/, ''))
    if (now === null) {
      by(`${file}: ${path} is in several packages`)
      return whole
    }
    const stays = now === undefined
    if (stays && to === file) return whole
    if (stays && !existsSync(old) && !/^(build|dist|node_modules)\b/.test(old)) return whole
    const way = relative(dirname(to), stays ? old : now)
    return `${open}${way.startsWith('.') ? way : `./${way}`}${path.endsWith('/') ? '/' : ''}`
  })
  // Paths from the root of the repository.
  after = after.replace(/(?<![\w./-])((?:src|test|build|dist)\/[\w./-]*\w)/g, (whole, path) => {
    const now = target(path)
    if (now === null) by(`${file}: ${path} is in several packages`)
    return now ?? whole
  })
  work.push([file, to, before === after ? undefined : after])
}
for (const [file, to, text] of work) {
  if (to !== file) {
    mkdirSync(dirname(to), { recursive: true })
    renameSync(file, to)
  }
  if (text !== undefined) writeFileSync(to, text)
}
rmSync('src', { recursive: true, force: true })
