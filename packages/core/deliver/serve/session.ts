/**
 * One client of the server: a connection, and what is said over it (docs/protocol.md). Batches do not pass through
 * here; only words about them do.
 */
import { DefinitionError, MillraceError, StateError } from '../../basics/errors.js'
import { applyVariant } from '../../define/check/variants.js'
import { type AllowCode, codeIn, refuseCode } from '../../define/code.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { FeedJson, NormalFeed } from '../../define/types.js'
import type { Binding } from '../../engine/bind/policy.js'
import { ownTrainer, type Trainer } from '../../engine/bind/trainer.js'
import { decodeOf } from '../../engine/plan/making.js'
import { loadPlugins, pluginUrls } from '../../source/plugins.js'
import { type ClientObserver, loadObserver, type RunWatch } from '../observer.js'
import { fillOptions } from '../options.js'
import { PROTOCOL } from '../protocol-facts.js'
import { cantDecide, leaveDecoder, tuneFeeding, whyDecoded } from '../tuning.js'
import { answer } from './answers.js'
import { ClientGenerator } from './client-generator.js'
import { describeOpened } from './opened.js'
import { type AccountRequest, checkRequest, type OpenRequest, type Request, RequestError } from './request.js'
import { type Member, Serving } from './serving.js'

const NO_CODE_HERE =
  'This engine was started without --allow-code, and runs no code for its clients: start it with `millrace serve ' +
  '--allow-code`, if all who can reach its socket may run code as its user'

/** So long after a client has opened its feed first (ms), its run begins. */
const BEGINS = 60_000

/** What all sessions of a server share. */
export interface ServerContext {
  version: string
  /**
   * Finds the feed that a request means; modules are loaded by the command line. It may have sources of these plugins.
   * `allowCode`: what of its code may run.
   */
  find(
    request: OpenRequest,
    plugins: readonly string[],
  ): Promise<{ json: FeedJson; root: string; allowCode: AllowCode }>
  /** Whether clients may have the engine run code. */
  allowCode: boolean
  /** URLs of the plugins that the engine was started with. */
  plugins: readonly string[]
  /** The cores that workers run on, where no client says so. */
  affinity?: Binding
  /** Rings that are shared, by name, until a client leaves; as promises, so that the second waits for the first one's. */
  shared: Map<string, Promise<Serving>>
}

export class Session {
  private serving: Serving | undefined
  private member: Member | undefined
  private shared: { name: string; serving: Promise<Serving> } | undefined
  private said = false
  private opening = false
  private closed = false
  private readonly generator = new ClientGenerator()
  /** By which the tuner knows the client's run, and the client's process. */
  private run = ''
  private trainer = 0
  /** What explains the client's run: loaded while the workers start. */
  private observing: Promise<ClientObserver | undefined> | undefined
  private observer: ClientObserver | undefined
  /** Writes the run log, where it is wanted. */
  private log: RunWatch | undefined

  constructor(
    private readonly context: ServerContext,
    private readonly say: (message: object) => void,
  ) {}

  /** Answers one request. */
  async hear(request: Request): Promise<void> {
    const { id } = request
    const name = id === undefined ? {} : { id }
    try {
      checkRequest(request)
      const answer = await this.answer(request)
      if (answer !== undefined) this.say({ ...name, ...answer })
    } catch (error) {
      this.say({ ...name, error: errorJson(error as Error) })
    }
  }

  /** Called a few times a second: renews the heartbeat, and tells the client of a feeding that has ended. */
  watch(): void {
    this.observer?.watch()
    const failure = this.serving?.feeding.watch()
    if (failure !== undefined) this.fail(failure)
  }

  /** Tells the client, once, why no more batches will come. */
  fail(error: Error): void {
    if (this.said) return
    this.said = true
    this.say({ failed: errorJson(error) })
  }

  async close(): Promise<void> {
    this.closed = true
    const { serving, member } = this
    this.serving = undefined
    this.generator.close()
    this.observer?.close()
    this.observer = undefined
    this.log?.close('the trainer has closed the feed, or has ended')
    this.log = undefined
    if (!serving || !member) return
    const leaving = serving.leave(member)
    if (serving.ended || serving.complete) this.forgetShared()
    await leaving
  }

  /** A client that asks for a ring of this name from now on gets another one. */
  private forgetShared(): void {
    if (this.shared && this.context.shared.get(this.shared.name) === this.shared.serving)
      this.context.shared.delete(this.shared.name)
  }

  private async answer(request: Request): Promise<object | undefined> {
    if (request.open !== undefined) return { opened: await this.open(request.open) }
    const { serving, member } = this
    if (!serving || !member) throw new StateError('say "open" first')
    if (request.account !== undefined) return { known: await this.explain(serving, request.account) }
    if (request.look !== undefined) {
      ;(await this.observing)?.lookAt(request.look)
      return undefined
    }
    if (request.decoder !== undefined) return { decoder: await this.decide(serving, request.decoder) }
    return answer(request, serving, member)
  }

  private async explain(serving: Serving, request: AccountRequest): Promise<object> {
    const observer = await this.observing
    return observer?.tell(serving, request) ?? { unknown: 'this engine explains no runs' }
  }

  private async tune({ feeding, options }: Serving, trainer: number, decides = false): Promise<void> {
    await tuneFeeding(feeding, options, { run: this.run, trainer, decides })
  }

  /** The client's GPU may decode images, or can't after all; or it asks why they are decoded where they are. */
  private async decide(serving: Serving, { open }: { open?: boolean }): Promise<object> {
    const { feeding, options } = serving
    const cant = cantDecide(options)
    if (open === false) leaveDecoder(feeding)
    else if (open && cant === undefined) await this.tune(serving, this.trainer, true)
    const why = whyDecoded(feeding)
    return { open: open === true && cant === undefined, why: cant ?? why ?? null }
  }

  private async open(request: OpenRequest): Promise<object> {
    if (request.version !== PROTOCOL) {
      throw new MillraceError(
        `the client speaks version ${request.version} of the protocol, the engine version ${PROTOCOL}: ` +
          'install the same Millrace on both sides',
      )
    }
    if (this.opening) throw new MillraceError('one connection is one ring: it is open already')
    this.opening = true
    const notices: string[] = []
    try {
      let serving = await this.serve(request, notices)
      // The client that had asked for it first may have gone meanwhile, and the ring with it.
      while (serving.ended) serving = await this.serve(request, notices)
      this.member = serving.join()
      this.serving = serving
    } catch (error) {
      this.opening = false
      throw error
    }
    if (this.closed) {
      await this.close()
      throw new MillraceError('the client has left while its feed was being opened')
    }
    this.observing = this.observe(request.pid)
    // Those that share a rank go in step: the first one's steps are all of theirs.
    this.trainer = request.pid
    this.run = request.run ?? `ring ${this.serving.feeding.id}`
    if (this.serving.isFirst(this.member)) void this.tune(this.serving, request.pid, request.decides)
    try {
      await this.watchRun(this.serving, this.member, request.pid, notices)
    } catch (error) {
      await this.close()
      throw error
    }
    const { generator } = this
    const { version } = this.context
    return describeOpened(this.serving, this.member, { generator, notices, version })
  }

  /** `trainer`: the client's process. */
  private async observe(trainer: number): Promise<ClientObserver | undefined> {
    const observer = await (await loadObserver())?.client(trainer)
    if (this.closed) observer?.close()
    else this.observer = observer
    return observer
  }

  /** Begins the run log. A ring that several clients see has it once: that of the first. */
  private async watchRun(
    serving: Serving,
    member: Member,
    trainer: number,
    notices: string[],
  ): Promise<void> {
    const { feeding, options, opened } = serving
    const { log } = options
    if (log === undefined || !serving.isFirst(member)) return
    const observer = await loadObserver()
    try {
      const { hashes } = opened.plan
      this.log = await observer?.watch({ feeding: () => feeding, options, hashes, trainer, gpu: true })
    } catch (error) {
      // A run that goes on is not ended by its log: it is refused when it begins.
      if (log.since === undefined || Date.now() - log.since < BEGINS) throw error
      notices.push((error as Error).message)
    }
    if (this.closed) this.log?.close('the trainer has left')
  }

  private async serve(request: OpenRequest, notices: string[]): Promise<Serving> {
    const { share } = request
    if (share === undefined) return this.start(request, notices, 1)
    const { shared } = this.context
    const name = `${share.name}/${request.options?.rank ?? 0}`
    let serving = shared.get(name)
    if (serving === undefined) {
      serving = this.start(request, notices, share.members)
      shared.set(name, serving)
      serving.catch(() => shared.delete(name))
    } else if ((await serving).wanted !== share.members) {
      const { wanted } = await serving
      throw new RequestError(
        `"share.members": the ring "${share.name}" has ${wanted} members, not ${share.members}: all say the same number`,
      )
    }
    this.shared = { name, serving }
    return serving
  }

  private async start(request: OpenRequest, notices: string[], members: number): Promise<Serving> {
    const plugins = this.plugins(request)
    await loadPlugins(plugins, request.options?.timeout)
    const { json, root, allowCode } = await this.context.find(request, plugins)
    const chosen = request.variant === undefined ? json : applyVariant(json, request.variant)
    const feed: NormalFeed = {
      ...normalizeFeed(chosen, root, plugins),
      ...this.interpreter(request),
    }
    refuseCode(codeIn(feed), allowCode, this.context.allowCode ? undefined : NO_CODE_HERE)
    const { limit, log, ...given } = request.options ?? {}
    const decode = decodeOf(feed, given.decode ?? 'cpu')
    const { affinity = this.context.affinity } = given
    // What is known at once is told with the answer.
    const notice = (text: string): void => {
      if (this.log === undefined) notices.push(text)
      else this.say({ notice: request.name === undefined ? text : `${request.name}: ${text}` })
    }
    const options = fillOptions({ ...given, affinity, decode, notice }, trainerOf(request), given)
    // The client computes in a process of its own: here there is always a thread to make batches.
    const workers = Math.max(1, options.workers)
    const { name } = request
    const logged = log === undefined ? options.log : (log ?? undefined)
    return Serving.start(feed, { ...options, workers, name, log: logged }, limit ?? Infinity, members)
  }

  /**
   * The engine's own plugins and those that a client names. To load a plugin is to run it: an engine that runs no code for
   * its clients loads none for them.
   */
  private plugins({ plugins }: OpenRequest): string[] {
    const own = this.context.plugins
    const asked = pluginUrls(plugins, 'plugins').filter(url => !own.includes(url))
    if (asked.length > 0 && !this.context.allowCode)
      throw new DefinitionError(
        'plugins',
        `${asked[0]} is a plugin, and to load it is to run it. ${NO_CODE_HERE}`,
      )
    return [...own, ...asked]
  }

  /**
   * The interpreter that a client chose. An engine that runs no code for its clients has its own: to name the command of
   * another is to run one.
   */
  private interpreter({ python }: OpenRequest): { python?: string[] } {
    return this.context.allowCode && python !== undefined ? { python } : {}
  }
}

/** The client's process. The one that has started this engine for itself alone has the same environment. */
function trainerOf({ pid, trainer }: OpenRequest): Trainer {
  return pid === process.ppid ? { ...ownTrainer(pid), ...trainer } : { pid, ...trainer }
}

/** An error as the client gets it: its tag and message; of a bug also where it happened. */
function errorJson(error: Error): { tag: string; message: string } {
  if (error instanceof MillraceError) return { tag: error.tag, message: error.message }
  return { tag: 'Bug', message: error.stack ?? error.message }
}
