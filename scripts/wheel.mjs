// Builds the wheel for Python into python/dist: the client, the built engine, and of the engine's packages those files
// that it loads, for the platform this runs on. Needs npm's packages installed, and Python with pip.
//
//   npm run wheel [-- --no-build]
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const python = join(root, 'python')
const wheels = join(python, 'dist')
const { platform, arch } = process
const system = process.report.getReport().header.glibcVersionRuntime ? platform : `${platform}musl`
const musl = system.endsWith('musl')

/** What is taken of each package: what is loaded, its licence, and nothing else. */
const PACKAGES = {
  // As a module, and as system/process/exit.ts requires it.
  koffi: [
    'package.json',
    'LICENSE.txt',
    /^index\.c?js$/,
    /^src\/koffi\/index\.c?js$/,
    /^src\/koffi\/src\/static\.c?js$/,
  ],
  [`@koromix/koffi-${platform}-${arch}`]: [
    'package.json',
    'index.js',
    `${musl ? 'musl' : platform}_${arch}/koffi.node`,
  ],
  // Its README has the licences of all that libvips is made of; the library can be replaced (LGPL): MILLRACE_VIPS.
  [`@img/sharp-libvips-${system}-${arch}`]: [
    'package.json',
    'README.md',
    'versions.json',
    /^lib\/libvips.*\.so/,
  ],
  // Reads feeds in TypeScript on Nodes that can't, with what it needs.
  sucrase: ['package.json', 'LICENSE', /^dist\/(?!esm|types).*\.js$/],
  'lines-and-columns': ['package.json', 'LICENSE', /^build\/.*\.js$/],
  'ts-interface-checker': ['package.json', 'LICENSE', /^dist\/.*\.js$/],
  '@jridgewell/gen-mapping': ['package.json', 'LICENSE', /^dist\/.*\.umd\.js$/],
  '@jridgewell/trace-mapping': ['package.json', 'LICENSE', /^dist\/.*\.umd\.js$/],
  '@jridgewell/sourcemap-codec': ['package.json', 'LICENSE', /^dist\/.*\.umd\.js$/],
  '@jridgewell/resolve-uri': ['package.json', 'LICENSE', /^dist\/.*\.umd\.js$/],
}

/** Every file below a folder, by its path from there. */
function filesIn(folder) {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  return entries
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
}

/** Copies the wanted files, each named or matched, and insists that there are some for each wish. */
function take(from, to, wishes) {
  const there = filesIn(from)
  for (const wish of wishes) {
    const wanted = there.filter(file => (typeof wish === 'string' ? file === wish : wish.test(file)))
    if (wanted.length === 0) throw new Error(`${from} has no ${wish}: run npm ci`)
    for (const file of wanted) cpSync(join(from, file), join(to, file), { recursive: true })
  }
}

function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (error) throw error
  if (status !== 0) process.exit(status ?? 1)
}

const json = file => JSON.parse(readFileSync(file, 'utf8'))

/** The engine as the wheel has it: what is run, and a package.json by which it knows itself. */
function placeEngine(engine) {
  const libraries = `core/system/libraries/${platform}-${arch}${musl ? '-musl' : ''}/`
  take(join(root, 'dist'), join(engine, 'dist'), [
    /^(?!.*\.d\.ts$)(?!.*\.map$)(?!.*\.so)/,
    `${libraries}libturbojpeg.so.0`,
  ])
  for (const [name, wishes] of Object.entries(PACKAGES)) {
    take(join(root, 'node_modules', name), join(engine, 'node_modules', name), wishes)
  }
  const { name, version, license, type, engines, exports } = json(join(root, 'package.json'))
  writeFileSync(
    join(engine, 'package.json'),
    `${JSON.stringify({ name, version, license, type, engines, exports }, null, 2)}\n`,
  )
  return version
}

if (!process.argv.includes('--no-build')) run(process.execPath, join(root, 'scripts/build.mjs'))
const place = mkdtempSync(join(tmpdir(), 'millrace-wheel-'))
try {
  take(python, place, [
    'pyproject.toml',
    'README.md',
    'hatch_build.py',
    /^millrace\/(?!_engine\/).*\.(py|pyi|typed)$/,
  ])
  cpSync(join(root, 'LICENSE'), join(place, 'LICENSE'))
  const version = placeEngine(join(place, 'millrace/_engine'))
  if (!readFileSync(join(place, 'pyproject.toml'), 'utf8').includes(`\nversion = "${version}"\n`)) {
    throw new Error(`python/pyproject.toml must have the version of package.json, ${version}`)
  }
  // With the build tool at hand nothing has to be fetched.
  const atHand = spawnSync('python3', ['-c', 'import hatchling.build'], { stdio: 'ignore' }).status === 0
  const how = atHand ? ['--no-build-isolation'] : []
  run('python3', '-m', 'pip', 'wheel', '--quiet', '--no-deps', ...how, '--wheel-dir', wheels, place)
  const wheel = readdirSync(wheels).find(name => name.startsWith(`millrace_feed-${version}-`))
  const unpacked = filesIn(place).reduce((sum, file) => sum + statSync(join(place, file)).size, 0)
  const megabytes = bytes => `${(bytes / 1e6).toFixed(1)} MB`
  console.log(
    `python/dist/${wheel}: ${megabytes(statSync(join(wheels, wheel)).size)}, ${megabytes(unpacked)} unpacked`,
  )
} finally {
  rmSync(place, { recursive: true, force: true })
}
