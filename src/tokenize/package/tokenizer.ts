/**
 * A tokenizer that asks the package `tokenizers`. That one answers later, and `encode` must answer at once: so it runs in a thread of its own,
 * and this one waits.
 */
import { isUtf8 } from 'node:buffer'
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { DecodeError, EngineError } from '../../basics/errors.js'
import { threadFlags } from '../../system/node/thread-flags.js'
import type { Tokenizer, TokenizerOptions } from '../tokenizer.js'
import type { PackageVocabulary } from './open.js'
import type { Answer, Question, Setup } from './thread.js'

/** Milliseconds within which a text is tokenised, or the thread is taken for dead. */
const PATIENCE = 600_000

export class PackageTokenizer implements Tokenizer {
  readonly size: number
  readonly special: ReadonlyMap<string, number>
  readonly eod: number | undefined
  replaced = 0
  starts: Uint32Array = new Uint32Array(0)
  private readonly fatal: boolean
  private readonly port: MessagePort
  /** How many answers have come. */
  private readonly answered = new Int32Array(new SharedArrayBuffer(4))

  constructor(
    { size, eod, special, invalid }: { size: number; eod?: number } & Required<Omit<TokenizerOptions, 'eod'>>,
    vocabulary: PackageVocabulary,
  ) {
    const { added, text, package: path } = vocabulary
    this.size = size
    this.eod = eod
    this.special = new Map(added.filter(token => token.special).map(token => [token.text, token.id]))
    this.fatal = invalid === 'fatal'
    const { port1, port2 } = new MessageChannel()
    this.port = port1
    const setup: Setup = { text, path, added, special, port: port2, answered: this.answered }
    const thread = new Worker(new URL('./thread.js', import.meta.url), {
      workerData: setup,
      transferList: [port2],
      execArgv: threadFlags(),
    })
    thread.unref()
    port1.unref()
    // The first answer says that it is ready.
    this.answer()
  }

  room(bytes: number): number {
    // Normalizers may write a character as several others.
    return 4 * bytes + 64
  }

  encode(text: Uint8Array, out: Uint32Array, at: number): number {
    if (!isUtf8(text)) {
      if (this.fatal) throw new DecodeError('the text is no UTF-8')
      this.replaced++
    }
    const { tokens, starts } = this.ask({ encode: DECODER.decode(text) })
    this.starts = starts
    if (at + tokens.length > out.length)
      throw new RangeError(
        `there is room for ${out.length - at} tokens more, and the text has ${tokens.length}`,
      )
    out.set(tokens, at)
    return at + tokens.length
  }

  decode(tokens: ArrayLike<number>): Uint8Array {
    return Buffer.from(this.ask({ decode: Array.from(tokens) }).text)
  }

  private ask(question: Question): Answer {
    this.port.postMessage(question)
    return this.answer()
  }

  private answer(): Answer {
    for (;;) {
      const before = Atomics.load(this.answered, 0)
      const message = receiveMessageOnPort(this.port)?.message as Answer | undefined
      if (message !== undefined) {
        if (message.error !== undefined) throw new DecodeError(message.error)
        return message
      }
      if (Atomics.wait(this.answered, 0, before, PATIENCE) === 'timed-out')
        throw new EngineError('the thread of the package tokenizers does not answer')
    }
  }
}

const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })
