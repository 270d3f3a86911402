// Completes package-lock.json after `npm install`: packages for other platforms that the registry at hand does not have
// are left out by npm, and then `npm ci` refuses the lock file everywhere. An entry with version and platform is enough:
// such a package is never fetched where it does not fit.
import { readFileSync, writeFileSync } from 'node:fs'

const SYSTEMS = [
  'android',
  'darwin',
  'freebsd',
  'netbsd',
  'openbsd',
  'linux',
  'win32',
  'sunos',
  'aix',
  'openharmony',
]
const PROCESSORS = [
  'arm64',
  'x64',
  'ia32',
  's390x',
  'ppc64',
  'riscv64',
  'loong64',
  'mips64el',
  'wasm32',
  'arm',
]

const FILE = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(FILE, 'utf8'))
const { packages } = lock
const parts = name => name.split(/[/-]/).map(part => part.replace('linuxmusl', 'linux'))
let added = 0
for (const [owner, { optionalDependencies = {}, dev }] of Object.entries(packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const place = `node_modules/${name}`
    if (packages[place] || packages[`${owner}/${place}`]) continue
    const os = SYSTEMS.find(system => parts(name).includes(system))
    const cpu = PROCESSORS.find(processor => parts(name).includes(processor))
    packages[place] = {
      version: version.replace(/^[\^~]/, ''),
      ...(cpu && { cpu: [cpu] }),
      ...(dev && { dev }),
      ...(os === 'linux' && { libc: [name.includes('musl') ? 'musl' : 'glibc'] }),
      optional: true,
      ...(os && { os: [os] }),
    }
    added++
  }
}
const { '': root, ...others } = packages
const sorted = Object.entries(others).sort(([a], [b]) => (a < b ? -1 : 1))
writeFileSync(
  FILE,
  `${JSON.stringify({ ...lock, packages: { '': root, ...Object.fromEntries(sorted) } }, null, 2)}\n`,
)
console.log(`${added} packages of other platforms entered`)
