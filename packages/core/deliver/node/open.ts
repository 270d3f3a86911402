/** `open`: from a feed, in whatever spelling, to batches. */

import { DefinitionError } from '../../basics/errors.js'
import type { AsVariant, BatchFacts, FieldsOf, VariantName } from '../../define/build/batch-types.js'
import { type Feed, isBuilt } from '../../define/build/feed.js'
import { applyVariant } from '../../define/check/variants.js'
import { codeIn, refuseCode } from '../../define/code.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { TokensFeedJson } from '../../define/token-feed.js'
import type { FeedJson, KernelFeedJson, NormalFeed } from '../../define/types.js'
import { ownTrainer } from '../../engine/bind/trainer.js'
import { pythonCommand } from '../../python/interpreter.js'
import { loadPlugins, pluginUrls } from '../../source/plugins.js'
import { readDeviceOptions } from '../device-options.js'
import { checkNames, fillOptions, type OpenOptions } from '../options.js'
import type { Batch } from './batch.js'
import { type DeviceArray, type DeviceRagged, openerOf } from './device.js'
import { Loader } from './loader.js'

/**
 * Opens a feed. Workers start at once; iterate with `for await`.
 *
 *   for await (const batch of open(cats, { workers: 'auto' })) train(batch.image, batch.label)
 *
 * With `device: 'cuda'` batches lie on the GPU: `batch.image.devicePointer`.
 */
export function open<
  F extends Feed | FeedJson | KernelFeedJson | TokensFeedJson,
  const O extends OpenOptions = Record<never, never>,
>(feed: F, given?: O & Checked<F, O>): Loader<OpenedBatch<AsVariant<F, VariantIn<F, O>>, O>> {
  const options: OpenOptions = given ?? {}
  checkFeed(feed)
  const notice = options.notice ?? warn
  checkNames(options, notice)
  const json = 'json' in feed ? (feed as Feed).json : (feed as FeedJson)
  const chosen = options.variant === undefined ? json : applyVariant(json, options.variant)
  const root = options.root ?? ('root' in feed ? (feed as Feed).root : undefined) ?? process.cwd()
  const functions = 'functions' in feed ? (feed as Feed).functions : undefined
  const choice = readDeviceOptions(options)
  const plugins = pluginUrls(options.plugins, 'options.plugins')
  const normalize = (): NormalFeed => {
    const normal: NormalFeed = {
      ...normalizeFeed(chosen, root, plugins),
      ...(options.python !== undefined && { python: pythonCommand(options.python) }),
    }
    if (!isBuilt(feed)) refuseCode(codeIn(normal), options.allowCode === true)
    return normal
  }
  const trainer = ownTrainer(process.pid, choice?.ordinal)
  const device = choice && openerOf(choice)
  const filled = { ...fillOptions({ ...options, notice }, trainer), functions, device }
  // What a plugin brings can be checked once that is loaded: then `ready` says what is wrong, else it is said at once.
  const normal = plugins.length === 0 ? normalize() : loadPlugins(plugins, filled.timeout).then(normalize)
  return new Loader(normal, filled)
}

/** Where a program does not say who is told, Node prints notices as its warnings: what is left out is never left out in silence. */
function warn(text: string): void {
  process.emitWarning(text, 'MillraceNotice')
}

/** For programs without types, which may give a path, or a module in place of its default export. */
function checkFeed(feed: unknown): void {
  if (typeof feed === 'object' && feed !== null && !Array.isArray(feed)) return
  const given = typeof feed === 'string' ? `the text ${JSON.stringify(feed)}` : String(feed)
  throw new DefinitionError(
    '',
    `open takes a feed, made by feed({ … }), by fromJson(JSON.parse(text), folder), or its JSON, not ${given}`,
  )
}

// ------------------------------------------------------------------ types

/** Options as which neither a misspelt name nor a variant that the feed does not have compiles. */
type Checked<F, O extends OpenOptions> = Omit<OpenOptions, 'variant'> & {
  variant?: string extends O['variant'] ? string : VariantName<F>
} & { [Name in Exclude<keyof O, keyof OpenOptions>]: never }

/** The variant that the options name: `undefined` where they name none, any of them where it is only known to be a text. */
type VariantIn<F, O extends OpenOptions> = 'variant' extends keyof O
  ? string extends O['variant']
    ? VariantName<F> | undefined
    : O['variant']
  : undefined

/** What comes out: the feed's own fields, typed, and what every batch has. `F` is the feed, or what is known of it. */
type OpenedBatch<F, O> = O extends { device: string } ? DeviceLoadedBatch<F> : LoadedBatch<F>

export type LoadedBatch<F> =
  F extends Pick<Feed, 'is'> ? FieldsOf<F> & BatchFacts & Batch<FieldsOf<F>> : Batch & Record<string, unknown>

/** The same on a device: text stays as it is, all else is DeviceArrays. */
export type DeviceLoadedBatch<F> =
  F extends Pick<Feed, 'is'>
    ? DeviceFieldsOf<F> & BatchFacts & Batch<DeviceFieldsOf<F>>
    : Batch<Record<string, DeviceArray | DeviceRagged | string[]>> & Record<string, unknown>

type DeviceFieldsOf<F extends Pick<Feed, 'is'>> = {
  [Name in keyof F['is']['fields']]: OnDevice<FieldsOf<F>[Name]>
}

type OnDevice<Value> = Value extends string[]
  ? Value
  : Value extends { offsets: unknown }
    ? DeviceRagged
    : DeviceArray
