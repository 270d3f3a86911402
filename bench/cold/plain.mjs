// What the disk gives to a plain loop, as a ceiling for bench/cold.mjs: FILES ROWS AHEAD SEED. One thread reads pieces of 30,000 bytes at
// random places; the kernel is told of each (posix_fadvise, WILLNEED) so many reads ahead. 0: it is told of none.
import { fstatSync, openSync, readSync } from 'node:fs'
import koffi from 'koffi'

const WILLNEED = 3
const [files, rows, ahead, seed] = JSON.parse(process.argv[2])
const fadvise = koffi
  .load('libc.so.6')
  .func('int posix_fadvise(int fd, int64_t at, int64_t length, int advice)')
const fds = files.map(file => openSync(file))
const sizes = fds.map(fd => fstatSync(fd).size)
const STEP = 31_232 // a row of 30,000 bytes in a tar file, with its headers
const into = new Uint8Array(30_000)

/** Piece i: the same in every run with this seed. */
let state = (seed * 2_654_435_761 + 1) >>> 0
const random = () => {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return (state >>> 0) / 2 ** 32
}
const pieces = Array.from({ length: rows }, () => {
  const file = Math.floor(random() * fds.length)
  return { fd: fds[file], at: 512 + Math.floor(random() * Math.floor(sizes[file] / STEP - 1)) * STEP }
})
const begun = performance.now()
const cpu = process.cpuUsage()
for (let i = 0; i < rows; i++) {
  if (ahead > 0 && i + ahead < rows)
    fadvise(pieces[i + ahead].fd, pieces[i + ahead].at, into.length, WILLNEED)
  readSync(pieces[i].fd, into, 0, into.length, pieces[i].at)
}
const { user, system } = process.cpuUsage(cpu)
console.log(JSON.stringify({ rows, ms: performance.now() - begun, cpuMs: (user + system) / 1000 }))
