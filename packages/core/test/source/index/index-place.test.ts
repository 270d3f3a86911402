import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { tarFile } from '../../../../../test/support/tar.js'
import { NumberBuilder } from '../../../source/index/columns.js'
import { IndexFile } from '../../../source/index/file.js'
import { withLock } from '../../../source/index/lock.js'
import { type IndexWanted, obtainIndex } from '../../../source/index/place.js'
import { type IndexTarget, writeIndex } from '../../../source/index/write.js'
import { cachedPath, cacheFolder } from '../../../system/files/cache-folder.js'

/** A module of the build: threads and processes of their own run that. */
const built = (path: string): string =>
  JSON.stringify(new URL(`../../../../../build/${path}`, import.meta.url).href)

let home: string
beforeEach(() => {
  home = temporaryFolder()
  process.env.MILLRACE_CACHE = join(home, 'cache')
})

function wanted(more: Partial<IndexWanted> = {}): IndexWanted & { builds: IndexTarget[]; notices: string[] } {
  const builds: IndexTarget[] = []
  const notices: string[] = []
  return {
    data: join(home, 'data.tar'),
    beside: join(home, '.data.tar.millrace'),
    problem: ({ meta }) => (meta.version === 1 ? undefined : 'it is old'),
    build: async path => {
      builds.push(path)
      writeIndex(path, 'test', 0, { version: 1 }, { n: new NumberBuilder() })
    },
    notice: text => notices.push(text),
    builds,
    notices,
    ...more,
  }
}

describe('place', () => {
  it('is beside the data, and the index is built once', async () => {
    const w = wanted()
    expect((await obtainIndex(w)).path).toBe(w.beside)
    await obtainIndex(w)
    expect(w.builds).toEqual([w.beside])
    expect(w.notices).toEqual([])
    expect(readdirSync(home)).toEqual(['.data.tar.millrace'])
  })

  it('is the cache folder where the data folder refuses', async () => {
    // A path through a file can't be written by anybody, root included.
    writeFileSync(join(home, 'file'), '')
    const w = wanted({ beside: join(home, 'file', 'index') })
    const { path } = await obtainIndex(w)
    expect(path).toBe(cachedPath(w.data))
    expect(path.startsWith(join(home, 'cache'))).toBe(true)
    await obtainIndex(w)
    expect(w.builds).toHaveLength(1)
  })

  it.skipIf(process.getuid?.() === 0)('is the cache folder where the data folder is read-only', async () => {
    mkdirSync(join(home, 'ro'))
    chmodSync(join(home, 'ro'), 0o555)
    const w = wanted({ beside: join(home, 'ro', '.index') })
    expect((await obtainIndex(w)).path).toBe(cachedPath(w.data))
  })

  it('is memory where no folder can be written, with a notice that names both', async () => {
    writeFileSync(join(home, 'cache'), '')
    const w = wanted({ beside: join(home, 'cache', 'x') })
    const { path, header } = await obtainIndex(w)
    expect(header.meta).toEqual({ version: 1 })
    expect([...new IndexFile(path).numbers('n')]).toEqual([])
    expect(w.notices).toHaveLength(1)
    expect(w.notices[0]).toMatch(/data\.tar is kept in memory.*cache\/x \(ENOTDIR\) nor .*set MILLRACE_CACHE/)
    // A second feed of this process uses it again; data that changed meanwhile are indexed anew.
    expect((await obtainIndex(w)).path).toBe(path)
    expect(w.builds).toHaveLength(1)
    await obtainIndex({ ...w, problem: () => 'it is old' })
    expect(w.builds).toHaveLength(2)
  })

  it('is the cache folder where another user planted an index', async () => {
    const w = wanted()
    writeIndex(w.beside as string, 'test', 0, { version: 1 }, {})
    const planted = readFileSync(w.beside as string)
    // Root's indexes are used by all: the folder gets another owner where this is root.
    if (process.getuid?.() === 0) for (const path of [home, w.beside as string]) chownSync(path, 1000, 1000)
    const mine = process.geteuid
    process.geteuid = () => 12345 // everything here belongs to another user now, in a folder of theirs that others can write
    chmodSync(home, 0o777)
    try {
      expect((await obtainIndex(w)).path).toBe(cachedPath(w.data))
      expect(readFileSync(w.beside as string)).toEqual(planted)
      chmodSync(home, 0o755) // in their own folder it is used
      expect((await obtainIndex(w)).path).toBe(w.beside)
    } finally {
      process.geteuid = mine
    }
  })

  it('is never a FIFO, nor is its lock', async () => {
    const w = wanted()
    expect(spawnSync('mkfifo', [w.beside as string]).status).toBe(0)
    expect((await obtainIndex(w)).path).toBe(w.beside)
    expect(w.notices[0]).toContain('a named pipe (FIFO), not a regular file')
    rmSync(w.beside as string)
    expect(spawnSync('mkfifo', [`${w.beside}.lock`]).status).toBe(0)
    expect((await obtainIndex(w)).path).toBe(cachedPath(w.data))
  })

  it('follows the environment', () => {
    expect(cacheFolder({ MILLRACE_CACHE: '/m', XDG_CACHE_HOME: '/x' })).toBe('/m')
    expect(cacheFolder({ XDG_CACHE_HOME: '/x' })).toBe('/x/millrace')
    expect(cacheFolder({})).toMatch(/\.cache\/millrace$/)
  })

  it('rebuilds an index that is old, torn or foreign, and says so', async () => {
    const w = wanted()
    writeIndex(w.beside as string, 'test', 0, { version: 0 }, {})
    await obtainIndex(w)
    writeFileSync(w.beside as string, 'garbage '.repeat(100))
    await obtainIndex(w)
    expect(w.builds).toHaveLength(2)
    expect(w.notices[0]).toContain('it is old')
    expect(w.notices[1]).toContain('not an index')
    expect(w.notices[1]).toContain(w.data)
  })

  it('passes on what goes wrong in a build, and leaves no lock', async () => {
    const w = wanted({ build: () => Promise.reject(new Error('a bad shard')) })
    await expect(obtainIndex(w)).rejects.toThrow('a bad shard')
    expect(readdirSync(home)).toEqual([])
  })
})

describe('lock', () => {
  it('lets one in at a time within a process', async () => {
    const path = join(home, 'lock')
    let inside = 0
    await Promise.all(
      Array.from({ length: 5 }, () =>
        withLock(path, async () => {
          expect(++inside).toBe(1)
          await sleep(3)
          inside--
        }),
      ),
    )
    expect(existsSync(path)).toBe(false)
  })

  it('is taken over from a process that is gone, even when its pid lives on', async () => {
    const path = join(home, 'lock')
    let text = ''
    await withLock(path, async () => {
      text = readFileSync(path, 'latin1')
    })
    const [pid, start, namespace] = text.trimEnd().split(' ')
    expect(Number(pid)).toBe(process.pid)
    for (const stale of [`999999999 1 ${namespace}\n`, `${process.ppid} 1 ${namespace}\n`]) {
      expect(stale).not.toContain(start)
      writeFileSync(path, stale)
      expect(await withLock(path, async () => 'in')).toBe('in')
      expect(readdirSync(home)).toEqual([])
    }
  })
})

describe('a lock that another holds', () => {
  it('is waited for with a word about who holds it', async () => {
    const path = join(home, 'lock')
    // A process in another pid namespace can't be looked up: it lives as long as it touches its lock.
    writeFileSync(path, '4242 1 boot/pid:[1] node-7\n')
    const notices: string[] = []
    const inside = withLock(path, async () => 'in', {
      notice: text => notices.push(text),
      what: 'indexes a.tar',
    })
    while (notices.length === 0) await sleep(20)
    rmSync(path)
    expect(await inside).toBe('in')
    expect(notices[0]).toBe(
      `waiting for process 4242 on node-7, or in another container, which indexes a.tar (${path})`,
    )
  })

  it('and that names no holder is taken over soon', async () => {
    const path = join(home, 'lock')
    writeFileSync(path, '') // as a disk that was full has left it
    const notices: string[] = []
    await withLock(path, async () => {}, { notice: text => notices.push(text) })
    expect(notices).toEqual([`waiting for a process that its lock does not name, which works here (${path})`])
    expect(readdirSync(home)).toEqual([])
  })

  it('is not left behind empty by a full disk', async ({ skip }) => {
    const small = join(home, 'small')
    mkdirSync(small)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small]).status === 0
    if (!mounted) skip('a small tmpfs can not be mounted here')
    try {
      const full = () => writeFileSync(join(small, 'full'), Buffer.alloc(1 << 20))
      expect(full).toThrow(/ENOSPC/)
      const w = wanted({ beside: join(small, '.data.tar.millrace') })
      expect((await obtainIndex(w)).path).toBe(cachedPath(w.data))
      expect(readdirSync(small)).toEqual(['full'])
    } finally {
      spawnSync('umount', [small])
    }
  })
})

describe('two processes', () => {
  it('build an index once, and a killed builder is replaced', async () => {
    writeFileSync(join(home, 'data.tar'), tarFile([{ name: 'a.cls', data: '1' }]))
    // Each appends a line when it builds; the first run of "hang" never comes back from its build.
    const script = join(temporaryFolder(), 'child.mjs')
    writeFileSync(
      script,
      `import { appendFileSync } from 'node:fs'
       import { obtainIndex } from ${built('core/source/index/place.js')}
       import { writeIndex } from ${built('core/source/index/write.js')}
       const [home, mode] = process.argv.slice(2)
       const { path } = await obtainIndex({
         data: home + '/data.tar', beside: home + '/.data.tar.millrace', problem: () => undefined,
         build: async path => {
           appendFileSync(home + '/builds', process.pid + '\\n')
           if (mode === 'hang') await new Promise(() => setInterval(() => {}, 1000))
           await new Promise(resolve => setTimeout(resolve, 150))
           writeIndex(path, 'tar', 0, {}, {})
         } })
       console.log(path)`,
    )
    const run = (mode: string) => {
      const child = spawn(process.execPath, [script, home, mode], { stdio: ['ignore', 'pipe', 'inherit'] })
      let out = ''
      child.stdout.on('data', data => (out += data))
      return { child, done: new Promise<string>(resolve => child.on('close', () => resolve(out.trim()))) }
    }
    const builds = () =>
      existsSync(join(home, 'builds')) ? readFileSync(join(home, 'builds'), 'utf8').split('\n').length - 1 : 0

    const hanging = run('hang')
    while (builds() === 0 && hanging.child.exitCode === null) await sleep(10)
    expect(builds()).toBe(1)
    const waiting = [run('build'), run('build')]
    await sleep(300)
    expect(builds()).toBe(1)
    hanging.child.kill('SIGKILL')
    await hanging.done
    expect(await Promise.all(waiting.map(({ done }) => done))).toEqual(
      Array(2).fill(join(home, '.data.tar.millrace')),
    )
    expect(builds()).toBe(2)
    expect(readdirSync(home).sort()).toEqual(['.data.tar.millrace', 'builds', 'data.tar'])
  })
})
