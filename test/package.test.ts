/** The package: few dependencies, each at one exact version, and every path that it names is there. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { libraryVersion } from '../src/system/codecs/turbojpeg-library.js'

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
    .filter(([path, locked]) => path !== '' && !locked.dev && fits(locked))
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
  const folder = 'dist/system/libraries'
  for (const system of ['linux-x64', 'linux-x64-musl', 'linux-arm64'])
    expect(existsSync(new URL(`${folder}/${system}/libturbojpeg.so.0`, root)), system).toBe(true)
  const licence = readFileSync(new URL(`${folder}/LICENSE-libjpeg-turbo.md`, root), 'utf8')
  expect(licence).toContain('based in part on the work of the Independent JPEG Group')
  // The licence names the version that is carried along.
  expect(licence).toContain(libraryVersion())
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
