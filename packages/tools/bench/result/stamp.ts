/** Where a bench was run: versions, machine, data. Two files with another stamp are not comparable. */
import { execFile } from 'node:child_process'
import { arch, cpus, hostname, release, totalmem, type } from 'node:os'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { version } from '../../../core/basics/version.js'
import type { NormalFeed } from '../../../core/define/types.js'
import type { OpenOptions } from '../../../core/deliver/options.js'
import { fileSystem } from '../../../core/system/files/file-system.js'
import { allowedCores, memoryLimit } from '../../../core/system/process/limits.js'
import { lookForAbsent } from '../../../observe/diagnose/absent.js'
import { HostSampler } from '../../../observe/host/sampler.js'

/** Other programs are watched for so long (ms). */
const WATCHED = 500
const GIT_TIMEOUT = 3000

export interface Stamp {
  versions: { millrace: string; node: string }
  /** The commit of the folder that the feed is in; null: it is in none. */
  git: { commit: string; changed: boolean } | null
  machine: {
    host: string
    system: string
    cpu: string
    /** Cores that may be used; a fraction where a control group's quota is one. And those that the machine has. */
    cores: number
    coresPresent: number
    /** Of the tightest control group, in cores. */
    quota: number | null
    memoryBytes: number
    /** What may still be taken, and what limits it. */
    freeBytes: number
    memoryLimit: string
    /** Cores that other programs used just before. */
    otherCores: number
  }
  data: {
    order: string
    content: string
    batch: string
    /** Of the first file of the source; null: it is none on a disk. */
    fileSystem: string | null
    /** Share of some rows' bytes that was not in the page cache before the first run; null: not known. */
    absent: number | null
    /** Bytes of the whole source, where they are known. */
    sourceBytes: number | null
  }
}

export async function stampOf(feed: NormalFeed, options: OpenOptions): Promise<Stamp> {
  const [git, absent, watched] = await Promise.all([
    gitOf(options.root ?? process.cwd()),
    lookForAbsent(feed, options, { epoch: 0, position: 0 }),
    watchMachine(),
  ])
  const { bytes: freeBytes, name } = memoryLimit()
  return {
    versions: { millrace: version(), node: process.versions.node },
    git,
    machine: {
      host: hostname(),
      system: `${type()} ${release()} ${arch()}`,
      cpu: cpus()[0]?.model.trim() ?? 'unknown',
      cores: allowedCores(),
      coresPresent: cpus().length,
      memoryBytes: totalmem(),
      freeBytes,
      memoryLimit: name,
      ...watched,
    },
    data: {
      ...absent.hashes,
      batch: JSON.stringify(feed.batch),
      fileSystem: absent.file === undefined ? null : systemOf(absent.file),
      absent: absent.probes.absent?.share ?? null,
      sourceBytes: absent.facts.sourceBytes ?? null,
    },
  }
}

async function watchMachine(): Promise<Pick<Stamp['machine'], 'otherCores' | 'quota'>> {
  const host = new HostSampler({ gpu: false })
  const before = host.look()
  await new Promise(resolve => setTimeout(resolve, WATCHED))
  const { otherCores } = host.between(before, host.look())
  host.close()
  return { otherCores, quota: before.quota }
}

async function gitOf(folder: string): Promise<Stamp['git']> {
  const git = async (...args: string[]) => {
    const options = { cwd: folder, timeout: GIT_TIMEOUT, windowsHide: true }
    return (await promisify(execFile)('git', args, options)).stdout.trim()
  }
  try {
    const commit = await git('rev-parse', 'HEAD')
    return { commit, changed: (await git('status', '--porcelain', '--untracked-files=no')) !== '' }
  } catch {
    return null
  }
}

function systemOf(file: string): string | null {
  try {
    return fileSystem(dirname(file)).name
  } catch {
    return null
  }
}
