/** A client of `millrace serve` that speaks docs/protocol.md by hand, with real processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach } from 'vitest'
import { PROTOCOL } from '../../packages/core/deliver/protocol-facts.js'
import { temporaryFolder } from './folder.js'
import { LONGEST_WAIT } from './until.js'

const CLI = join(import.meta.dirname, '../../dist/cli/main.js')
export const ROWS = 8
export const FEED = {
  source: { synthetic: { count: 100, images: { width: 24, height: 20, classes: 7 } } },
  order: { shuffle: 'global', seed: 3 },
  fields: {
    image: { from: 'jpg', as: 'image', apply: [{ randomResizedCrop: 16 }, { flip: {} }] },
    label: { from: 'cls', as: 'int' },
  },
  batch: { size: ROWS, last: 'keep' },
}

export interface Opened {
  engine: { pid: number; started: string }
  memory: { path: string; dataPath: string; control: number; slotBytes: number; bytes: number }
  layout: { fields: { name: string; at: number; unitBytes: number; dlpack: number[] }[] }
  steps: { epoch: number; first: number }
  length: number
  state: object
  generation: number
}

// biome-ignore lint/suspicious/noExplicitAny: answers are JSON of many shapes
export type Answer = any

/** One connection, and the ring it has opened. */
export class Client {
  opened!: Opened
  private fd = -1
  private dataFd = -1
  private next = 1
  private readonly waiting = new Map<number, (answer: Answer) => void>()
  readonly unasked: Answer[] = []

  private constructor(readonly socket: Socket) {
    socket.on('error', () => {})
    const lines = createInterface(socket)
    lines.on('error', () => {}) // it tells of the socket's errors as well
    lines.on('line', line => {
      const answer = JSON.parse(line)
      const hear = this.waiting.get(answer.id)
      if (hear) hear(answer)
      else this.unasked.push(answer)
    })
  }

  static async connect(path: string): Promise<Client> {
    for (const end = performance.now() + LONGEST_WAIT; ; ) {
      const socket = connect(path)
      const error = await new Promise<Error | undefined>(resolve => {
        socket.once('connect', () => resolve(undefined))
        socket.once('error', resolve)
      })
      if (!error) return new Client(socket)
      if (performance.now() > end) throw error
      await sleep(25)
    }
  }

  say(message: object): void {
    this.socket.write(`${JSON.stringify(message)}\n`)
  }

  ask(message: object): Promise<Answer> {
    const id = this.next++
    this.say({ id, ...message })
    return new Promise(resolve => this.waiting.set(id, resolve))
  }

  /** `feed` null: the one that the engine was given. */
  async open(options: object, feed: object | null = FEED, share?: object): Promise<Opened> {
    const brought = feed === null ? {} : { feed, root: '/' }
    const answer = await this.ask({
      open: { version: PROTOCOL, pid: process.pid, ...brought, options, share },
    })
    if (answer.error) throw new Error(answer.error.message)
    this.opened = answer.opened
    this.fd = openSync(this.opened.memory.path, 'r')
    this.dataFd = openSync(this.opened.memory.dataPath, 'r')
    return this.opened
  }

  /** Waits for batch k and returns its slot. */
  async take(k: number): Promise<number> {
    for (;;) {
      if (this.word(256 + 4 * (k % 32)) === k + 1) {
        const slot = this.word(128 + 4 * (k % 32))
        if (this.word(this.at(slot) + 16) === 1) return slot
      }
      await sleep(1)
    }
  }

  at(slot: number): number {
    return this.opened.memory.control + slot * this.opened.memory.slotBytes
  }

  word(at: number): number {
    return this.read(at, 4).readInt32LE()
  }

  double(at: number): number {
    return this.read(at, 8).readDoubleLE()
  }

  /** Bytes of the engine's words. */
  read(at: number, length: number, fd = this.fd): Buffer {
    const bytes = Buffer.alloc(length)
    readSync(fd, bytes, 0, length, at)
    return bytes
  }

  /** Bytes of the fields. */
  data(at: number, length: number): Buffer {
    return this.read(at, length, this.dataFd)
  }

  end(): void {
    for (const fd of [this.fd, this.dataFd]) if (fd >= 0) closeSync(fd)
    this.socket.destroy()
  }
}

/** Ended after each test. */
export const started: ChildProcess[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

/** Starts an engine; it is killed after the test. */
export function serve(...words: string[]): {
  child: ChildProcess
  socket: string
  exit: Promise<number | null>
} {
  const socket = join(temporaryFolder(), 'private', 'engine.sock')
  const child = spawn(process.execPath, [CLI, 'serve', ...words, '--socket', socket], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  started.push(child)
  return { child, socket, exit: new Promise(resolve => child.once('exit', resolve)) }
}

/** How many rings an engine has. */
export function rings({ pid }: ChildProcess): number {
  return readdirSync(`/proc/${pid}/fd`).filter(fd => {
    const path = `/proc/${pid}/fd/${fd}`
    return existsSync(path) && readlinkSync(path).includes('memfd:millrace ')
  }).length
}

/** ids and a digest of every field of the first epoch, in order. */
export function epoch(client: Client): Promise<string[]> {
  return epochFrom(client, 0)
}

export async function epochFrom(client: Client, first: number): Promise<string[]> {
  const seen: string[] = []
  for (let k = first; k < client.opened.steps.first; k++) {
    const slot = await client.take(k)
    const at = client.at(slot)
    const count = client.word(at + 8)
    const { ids } = await client.ask({ ids: slot })
    const digest = createHash('sha256')
    for (const field of client.opened.layout.fields)
      digest.update(client.data(at + field.at, count * field.unitBytes))
    seen.push(`${ids.join()} ${digest.digest('hex')}`)
    client.say({ release: slot })
  }
  return seen
}

export function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
