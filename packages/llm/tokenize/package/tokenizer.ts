/**
 * A tokenizer that asks the package `tokenizers`. That one runs whatever a tokenizer.json of others says, patterns that never end
 * and texts that grow without end included: so it runs in a process of its own, whose work and memory are limited, and this thread waits.
 */
import { isUtf8 } from 'node:buffer'
import { fileURLToPath } from 'node:url'
import { DecodeError, SourceError } from '../../../core/basics/errors.js'
import { Child, ChildEnded } from '../../../core/system/process/child.js'
import { usage } from '../../../core/system/process/proc.js'
import { RoomError, type Tokenizer, type TokenizerOptions } from '../tokenizer.js'
import type { AddedToken } from '../vocabulary/model.js'
import type { Setup } from './child.js'
import { FRAME, KINDS } from './frames.js'

/** Seconds of a processor that reading a tokenizer, or a text, may take; and more for so many bytes. */
const SECONDS = 1.5
const BYTES_A_SECOND = { model: 2 << 20, text: 32 << 10 }
/** Bytes of memory that it may take besides what a process has; and more for each byte. */
const MEMORY = 256 << 20
const MEMORY_A_BYTE = { model: 32, text: 4096 }
/** Seconds of the clock, where it can't be seen what a process uses. */
const PATIENCE = 600

export interface PackageOptions extends Required<Omit<TokenizerOptions, 'eod'>> {
  size: number
  name: string
  eod?: number
}

/** The file's text in shared memory, and where the package is. */
export interface PackageFile {
  text: Uint8Array
  package: string
  added: readonly AddedToken[]
}

const forgotten = new FinalizationRegistry<{ child?: Child }>(({ child }) => child?.end(0))

export class PackageTokenizer implements Tokenizer {
  readonly size: number
  readonly special: ReadonlyMap<string, number>
  readonly eod: number | undefined
  replaced = 0
  places = { starts: new Uint32Array(0), ends: new Uint32Array(0) }
  private readonly running: { child?: Child } = {}
  private into = Buffer.allocUnsafe(64 << 10)

  constructor(
    private readonly options: PackageOptions,
    private readonly file: PackageFile,
  ) {
    this.size = options.size
    this.eod = options.eod
    this.special = new Map(file.added.filter(token => token.special).map(token => [token.text, token.id]))
    forgotten.register(this, this.running)
  }

  start(): Child {
    if (this.running.child !== undefined) return this.running.child
    const { text, package: path, added } = this.file
    const env = { ...process.env, NODE_OPTIONS: undefined, UV_THREADPOOL_SIZE: '1', RAYON_NUM_THREADS: '1' }
    const program = fileURLToPath(new URL('./child.js', import.meta.url))
    const child = Child.start([process.execPath, program], env, undefined)
    this.running.child = child
    const setup: Setup = { path, added, special: this.options.special }
    this.guarded(child, 'model', text.length, () => {
      send(child, KINDS.setup, Buffer.from(JSON.stringify(setup)))
      send(child, KINDS.model, text)
      this.receive(child)
    })
    return child
  }

  end(): void {
    this.running.child?.end(0)
    this.running.child = undefined
  }

  room(bytes: number): number {
    // Normalizers may write a character as several others; where they write more, encode says how many.
    return 4 * bytes + 64
  }

  encode(text: Uint8Array, out: Uint32Array, at: number): number {
    if (!isUtf8(text)) {
      if (this.options.invalid === 'fatal') throw new DecodeError('the text is no UTF-8')
      this.replaced++
    }
    const body = this.ask(KINDS.encode, text, text.length)
    const count = body.length / 12
    const all = new Uint32Array(3 * count)
    new Uint8Array(all.buffer).set(body)
    this.places = { starts: all.subarray(count, 2 * count), ends: all.subarray(2 * count) }
    if (at + count > out.length) throw new RoomError(count, out.length - at)
    out.set(all.subarray(0, count), at)
    return at + count
  }

  decode(tokens: ArrayLike<number>): Uint8Array {
    return this.ask(KINDS.decode, new Uint8Array(Uint32Array.from(tokens).buffer), 4 * tokens.length).slice()
  }

  private ask(kind: number, body: Uint8Array, bytes: number): Uint8Array {
    const child = this.start()
    return this.guarded(child, 'text', bytes, () => {
      send(child, kind, body)
      return this.receive(child)
    })
  }

  /** Does something with the process, which is ended when it takes too long, or too much memory. */
  private guarded<T>(child: Child, what: 'model' | 'text', bytes: number, run: () => T): T {
    const before = usage(child.pid)
    const seconds = SECONDS + bytes / BYTES_A_SECOND[what]
    const memory = MEMORY + MEMORY_A_BYTE[what] * bytes
    const begin = performance.now()
    child.guard = () => {
      const now = usage(child.pid)
      if (now === undefined || before === undefined)
        return performance.now() - begin > 1000 * PATIENCE ? `it took more than ${PATIENCE} s` : undefined
      if (now.seconds - before.seconds > seconds) return `it took more than ${seconds.toFixed(1)} s`
      return now.bytes - before.bytes > memory
        ? `it took more than ${Math.round(memory / 1e6)} MB`
        : undefined
    }
    try {
      return run()
    } catch (cause) {
      if (!(cause instanceof ChildEnded)) throw cause
      this.running.child = undefined
      const { name } = this.options
      throw new SourceError(
        `the package tokenizers failed at ${what === 'model' ? `the tokenizer ${name}` : `a text of ${bytes} bytes with the tokenizer ${name}`}: ${cause.message}. Take another tokenizer, or look what its normalizer and its patterns do`,
        { cause },
      )
    }
  }

  /** The next answer. It lives until the one behind it. */
  private receive(child: Child): Uint8Array {
    let [got, end] = [0, FRAME]
    while (got < end) {
      got += child.read(this.into, got)
      if (got < FRAME) continue
      end = FRAME + this.into.readUInt32LE(0)
      if (end <= this.into.length) continue
      const larger = Buffer.allocUnsafe(end)
      larger.set(this.into.subarray(0, got))
      this.into = larger
    }
    const body = this.into.subarray(FRAME, end)
    if (this.into[4] === KINDS.error) throw new DecodeError(body.toString())
    if (this.into.length > 16 << 20) this.into = Buffer.allocUnsafe(64 << 10)
    return body
  }
}

function send(child: Child, kind: number, body: Uint8Array): void {
  const front = Buffer.alloc(FRAME)
  front.writeUInt32LE(body.length)
  front[4] = kind
  child.write(body.length < 64 << 10 ? Buffer.concat([front, body]) : front)
  if (body.length >= 64 << 10) child.write(body)
}
