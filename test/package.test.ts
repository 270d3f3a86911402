/** The package: few dependencies, each at one exact version, and every path that it names is there. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../', import.meta.url)
const read = (path: string) => JSON.parse(readFileSync(new URL(path, root), 'utf8'))
const manifest = read('package.json')

test('runtime dependencies are these, and no others', () => {
  expect(Object.keys(manifest.dependencies)).toEqual(['koffi'])
  expect(Object.keys(manifest.optionalDependencies)).toEqual(['@julusian/jpeg-turbo', 'sharp', 'sucrase'])
  expect(manifest.peerDependencies).toBeUndefined()
})

test('versions are exact', () => {
  const { dependencies, optionalDependencies, devDependencies } = manifest
  for (const [name, version] of Object.entries({
    ...dependencies,
    ...optionalDependencies,
    ...devDependencies,
  }))
    expect(version, name).toMatch(/^\d+\.\d+\.\d+$/)
})

test('the lock file has the same versions', () => {
  const lock = read('package-lock.json').packages
  for (const kind of ['dependencies', 'optionalDependencies', 'devDependencies']) {
    expect(lock[''][kind]).toEqual(manifest[kind])
    for (const [name, version] of Object.entries(manifest[kind]))
      expect(lock[`node_modules/${name}`].version, name).toBe(version)
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
