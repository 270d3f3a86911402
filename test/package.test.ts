/** The package: few dependencies, each at one exact version, and every path that it names is there. */
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { libraryVersion } from '../packages/core/system/codecs/turbojpeg-library.js'
import { temporaryFolder } from './support/folder.js'

const root = new URL('../', import.meta.url)
const read = (path: string) => JSON.parse(readFileSync(new URL(path, root), 'utf8'))
const manifest = read('package.json')
/** The version, also where a package has another name here: the oldest TypeScript, which is tested beside ours. */
const exact = (version: string) => version.replace(/^npm:typescript@/, '')

test('the Python package is called millrace-feed, and has our version', () => {
  const project = readFileSync(new URL('python/pyproject.toml', root), 'utf8')
  expect(/^name = "(.*)"$/m.exec(project)?.[1]).toBe('millrace-feed')
  expect(/^version = "(.*)"$/m.exec(project)?.[1]).toBe(manifest.version)
})

test('runtime dependencies are these, and no others', () => {
  expect(Object.keys(manifest.dependencies)).toEqual(['koffi'])
  expect(Object.keys(manifest.optionalDependencies)).toEqual([
    '@img/sharp-libvips-darwin-arm64',
    '@img/sharp-libvips-darwin-x64',
    '@img/sharp-libvips-linux-arm64',
    '@img/sharp-libvips-linux-x64',
    '@img/sharp-libvips-linuxmusl-arm64',
    '@img/sharp-libvips-linuxmusl-x64',
    'sucrase',
  ])
  expect(manifest.peerDependencies).toBeUndefined()
})

test('a user installs 20 packages: libraries for one platform, and sucrase with what it brings along', () => {
  type Locked = { dev?: boolean; os?: string[]; cpu?: string[]; libc?: string[] }
  const fits = ({ os = ['linux'], cpu = ['x64'], libc = ['glibc'] }: Locked) =>
    os.includes('linux') && cpu.includes('x64') && libc.includes('glibc')
  const installed = Object.entries<Locked>(read('package-lock.json').packages)
    .filter(([path, locked]) => /^node_modules\/(?!@millrace\/)/.test(path) && !locked.dev && fits(locked))
    .map(([path]) => path.replace('node_modules/', ''))
  expect(installed).toEqual([
    '@img/sharp-libvips-linux-x64',
    '@jridgewell/gen-mapping',
    '@jridgewell/resolve-uri',
    '@jridgewell/sourcemap-codec',
    '@jridgewell/trace-mapping',
    '@koromix/koffi-linux-x64',
    'any-promise',
    'commander',
    'fdir',
    'koffi',
    'lines-and-columns',
    'mz',
    'object-assign',
    'picomatch',
    'pirates',
    'sucrase',
    'thenify',
    'thenify-all',
    'tinyglobby',
    'ts-interface-checker',
  ])
})

test('libraries and their licence are built, for every platform that is named', () => {
  const folder = 'dist/core/system/libraries'
  for (const system of ['linux-x64', 'linux-x64-musl', 'linux-arm64'])
    expect(existsSync(new URL(`${folder}/${system}/libturbojpeg.so.0`, root)), system).toBe(true)
  const licence = readFileSync(new URL(`${folder}/LICENSE-libjpeg-turbo.md`, root), 'utf8')
  expect(licence).toContain('based in part on the work of the Independent JPEG Group')
  // The licence names the version that is carried along.
  expect(licence).toContain(libraryVersion())
})

test('the guide names the oldest TypeScript', () => {
  const { version } = read('node_modules/typescript-min/package.json')
  const guide = readFileSync(new URL('docs/start.md', root), 'utf8')
  expect(guide).toContain(`TypeScript ${version.replace(/\.\d+$/, '')} or newer`)
})

test('versions are exact', () => {
  const { dependencies, optionalDependencies, devDependencies } = manifest
  for (const [name, version] of Object.entries({
    ...dependencies,
    ...optionalDependencies,
    ...devDependencies,
  }))
    expect(exact(version as string), name).toMatch(/^\d+\.\d+\.\d+$/)
})

test('the lock file has the same versions', () => {
  const lock = read('package-lock.json').packages
  for (const kind of ['dependencies', 'optionalDependencies', 'devDependencies']) {
    expect(lock[''][kind]).toEqual(manifest[kind])
    for (const [name, version] of Object.entries(manifest[kind]))
      expect(lock[`node_modules/${name}`].version, name).toBe(exact(version as string))
  }
})

test('the lock file knows every optional package, also of other platforms: npm ci refuses it otherwise', () => {
  const lock: Record<string, { optionalDependencies?: Record<string, string> }> =
    read('package-lock.json').packages
  for (const [owner, { optionalDependencies = {} }] of Object.entries(lock)) {
    for (const name of Object.keys(optionalDependencies)) {
      const there = lock[`node_modules/${name}`] ?? lock[`${owner}/node_modules/${name}`]
      expect(there, `${name}: run \`node scripts/lock.mjs\``).toBeDefined()
    }
  }
})

test('what it exports and runs is built', () => {
  const paths = [
    ...Object.values<{ types?: string; default?: string } | string>(manifest.exports),
    manifest.bin.millrace,
  ].flatMap(entry => (typeof entry === 'string' ? [entry] : Object.values(entry)))
  for (const path of paths) expect(existsSync(new URL(path as string, root)), path as string).toBe(true)
})

test('the Node version it asks for is one it can run on', () => {
  expect(manifest.engines.node).toBe('>=20.19')
  expect(manifest.type).toBe('module')
})

describe('as npm packs it', () => {
  const user = temporaryFolder()
  const installed = join(user, 'node_modules/millrace')
  const packages = join(import.meta.dirname, '../node_modules')
  const run = promisify(execFile)
  const write = (name: string, text: string) => writeFileSync(join(user, name), text)
  let files: string[]

  /** Unpacked into a project of a user's, beside the packages that it needs. */
  beforeAll(() => {
    const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', user]
    const packed = JSON.parse(execFileSync('npm', words, { cwd: root, encoding: 'utf8' }))
    const [{ filename }] = Object.values<{ filename: string }>(packed)
    mkdirSync(installed, { recursive: true })
    execFileSync('tar', ['xzf', join(user, filename), '-C', installed, '--strip-components', '1'])
    for (const name of ['koffi', '@koromix', '@types', 'undici-types'])
      symlinkSync(join(packages, name), join(user, 'node_modules', name))
    const all = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    files = all.filter(file => statSync(join(installed, file)).isFile())
  })

  test('it is small: no source maps, nothing twice', () => {
    expect(files.filter(file => /\.map$|^(src|build|test)\//.test(file))).toEqual([])
    const bytes = files.map(file => readFileSync(join(installed, file)))
    expect(bytes.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(8e6)
    const hashes = bytes.map(data => createHash('sha256').update(data).digest('hex'))
    expect(files.filter((_, i) => hashes.indexOf(hashes[i]!) !== i)).toEqual([])
  })

  // The declarations of libraries are checked as well (skipLibCheck: false), ours among them.
  test.each(['typescript-min', 'typescript'])(
    '%s compiles what it should, and nothing else',
    async compiler => {
      const types = join(import.meta.dirname, 'types')
      for (const name of ['consumer.ts', 'tsconfig.json']) copyFileSync(join(types, name), join(user, name))
      write('package.json', '{ "type": "module" }')
      const tsc = join(packages, compiler, 'bin/tsc')
      const said = await run(process.execPath, [tsc, '-p', user]).then(
        ({ stdout }) => stdout,
        (error: { stdout?: string }) => error.stdout || String(error),
      )
      expect(said).toBe('')
    },
  )

  test('a function of the user and a plugin have the error classes of the worker that runs them', async () => {
    // Dropped, unless the worker sees what it is: something is missing, which is no fault of a sample.
    write(
      'feed.mjs',
      `import { feed, int, MissingError, synthetic } from 'millrace'
      const missing = () => { throw new MissingError('the dictionary is not there') }
      export default feed({
        source: synthetic({ count: 8, images: { width: 8, height: 8 } }),
        fields: { label: int('cls').map(missing) },
        batch: 4,
        onError: 'drop',
      })`,
    )
    // Its words alone, unless the worker takes the error for one that is not ours.
    write(
      'plugin.mjs',
      `import { isMainThread } from 'node:worker_threads'
      import { SourceError } from 'millrace'
      const rows = { count: 8, columns: ['n'], runs: Float64Array.of(0), id: String, key: String, indexed: [] }
      export default { sources: { gone: {
        check() {},
        open: () => ({ fingerprint: { count: 8, digest: '0' } }),
        attach() {
          if (!isMainThread) throw new SourceError('the disk is in a drawer')
          return { ...rows, index() {}, need() {}, sample: n => ({ n }) }
        },
      } } }`,
    )
    const cli = join(installed, 'dist/cli/main.js')
    const said = (...words: string[]) =>
      run(process.execPath, [cli, 'run', ...words, '--workers', '1'], { cwd: user }).then(
        () => 'no error',
        (error: { stderr: string }) => error.stderr,
      )
    expect(await said('feed.mjs')).toContain(
      'millrace: sample 0: map of field "label" failed: the dictionary',
    )
    const gone = { source: { gone: {} }, fields: { n: { from: 'n', as: 'int' } }, batch: 4 }
    expect(await said(JSON.stringify(gone), '--plugin', join(user, 'plugin.mjs'))).toBe(
      'millrace: the disk is in a drawer\n',
    )
  })
})
