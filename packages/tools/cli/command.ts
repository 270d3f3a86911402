/**
 * The frame around a verb. A verb declares its arguments and options as data; help, parsing, "did you mean" and
 * the types of the values all come from that one declaration.
 */
import { parseArgs } from 'node:util'
import { MillraceError, nearest } from '../../core/basics/errors.js'
import { expandHome } from '../../core/basics/path.js'
import { type OptionFlag, removedOf, removedText } from '../../core/deliver/option-table.js'
import { say } from './say.js'
import { pairs, wrap } from './table.js'
import { parseAmount, parseBytes } from './units.js'

/**
 * flag: given or not; text: as it stands; texts: the same, and it may be given several times; number: not negative; count:
 * a whole one; amount: `100B`, `1.5M`, `3e9` of anything; bytes: `256MiB`, `3e9`.
 */
export type OptionType = OptionFlag['type']

export interface Option {
  type: OptionType
  /** What it does, in a few words. */
  about: string
  /** What stands for the value in the help: `--out DIR`. */
  value?: string
  short?: string
  /** Used when the option is not given; shown in the help. */
  default?: string | number
  /** For processes of ours: the help does not show it. */
  hidden?: true
  /** The least that a number may be, of whatever type; 0 by default. */
  least?: number
  most?: number
}

export interface Argument {
  name: string
  about: string
  /** May be left out. */
  optional?: boolean
  /** Takes all that follow. */
  many?: boolean
}

type ValueOf<O extends Option> = O['type'] extends 'flag'
  ? boolean
  : O['type'] extends 'text'
    ? string
    : O['type'] extends 'texts'
      ? string[]
      : number

/** Values by option name; undefined only where there is no default and nothing was given. */
export type Values<O extends Record<string, Option>> = {
  [K in keyof O]: O[K]['type'] extends 'flag' | 'texts'
    ? ValueOf<O[K]>
    : O[K] extends { default: string | number }
      ? ValueOf<O[K]>
      : ValueOf<O[K]> | undefined
}

/** What a verb has to say at the end: as one JSON object, or as text for people. */
export interface Outcome {
  json: object
  text: string
  /** 0 by default: the verb did what it was asked. */
  code?: number
}

export interface Call<O extends Record<string, Option>> {
  args: string[]
  values: Values<O>
  /** The verb's own options that stand on the command line: `values` also has defaults. */
  given: ReadonlySet<keyof O & string>
}

export interface Command<O extends Record<string, Option> = Record<string, Option>> {
  name: string
  /** One line for the list of verbs. */
  summary: string
  /** A paragraph or two for the verb's own help. */
  about?: string
  args: readonly Argument[]
  options: O
  /** A command line, and what it is for. */
  examples: readonly (readonly [line: string, about: string])[]
  run(call: Call<O>): Promise<Outcome>
  /** Verbs below this one: `millrace tokens inspect`. It is then a name for them, and does nothing itself. */
  verbs?: Verbs
}

/** Verbs by name, each loaded only when it is called. */
export type Verbs = Readonly<Record<string, () => Promise<Command>>>

/** Declares a verb; keeps the types of its options. */
export function command<const O extends Record<string, Option>>(definition: Command<O>): Command {
  return definition as unknown as Command
}

/** Declares a verb that has others below it. */
export function group(
  definition: Pick<Command, 'name' | 'summary' | 'about' | 'examples'> & { verbs: Verbs },
): Command {
  const run = async (): Promise<Outcome> => {
    throw new UsageError(
      `millrace ${definition.name} needs a verb: ${Object.keys(definition.verbs).join(', ')}`,
    )
  }
  return { ...definition, args: [], options: {}, run }
}

/** The command line itself is wrong: exit status 2. */
export class UsageError extends MillraceError {
  override readonly tag = 'Usage'
}

/** Options that every verb has. */
const COMMON = {
  json: { type: 'flag', about: 'print one JSON object instead of text; progress stays on stderr' },
  progress: { type: 'flag', about: 'show progress on stderr: on, unless MILLRACE_PROGRESS=0 is set' },
  'no-progress': { type: 'flag', about: 'show none' },
  help: { type: 'flag', short: 'h', about: 'show this help' },
} as const satisfies Record<string, Option>

/** Reads the words after the verb. */
export function parse(
  verb: Command,
  words: readonly string[],
): Call<Record<string, Option>> & { json: boolean; help: boolean; progress: boolean | undefined } {
  const options: Record<string, Option> = { ...verb.options, ...COMMON }
  const gone = new Map([...removedOf(verb.name)].map(([name, removed]) => [kebab(name), removed]))
  const { tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries([
      ...[...gone].map(([name, { valued }]) => [name, { type: valued ? 'string' : 'boolean' }] as const),
      ...Object.entries(options).map(
        ([name, { type, short }]) =>
          [name, { type: type === 'flag' ? 'boolean' : 'string', ...(short && { short }) }] as const,
      ),
    ]),
    strict: false,
    tokens: true,
  })
  const values: Record<string, unknown> = {}
  for (const [name, option] of Object.entries(options)) {
    values[name] = option.type === 'flag' ? false : option.type === 'texts' ? [] : option.default
  }
  const args: string[] = []
  const given = new Set<string>()
  for (const token of tokens) {
    if (token.kind === 'positional') args.push(expandHome(token.value))
    if (token.kind !== 'option') continue
    const removed = gone.get(token.name)
    if (removed !== undefined) {
      say(`notice: ${removedText(token.rawName, removed)}`)
      continue
    }
    const value = convert(verb, options, token)
    if (Object.hasOwn(verb.options, token.name)) given.add(token.name)
    if (options[token.name].type === 'texts') (values[token.name] as unknown[]).push(value)
    else values[token.name] = value
  }
  if (!values.help) checkArguments(verb, args)
  return {
    args,
    values: values as Values<Record<string, Option>>,
    given,
    json: values.json === true,
    help: values.help === true,
    progress: values['no-progress'] === true ? false : values.progress === true ? true : undefined,
  }
}

/** `maxDepth` as the command line spells it: `max-depth`. */
function kebab(name: string): string {
  return name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
}

function convert(
  verb: Command,
  options: Record<string, Option>,
  token: { name: string; rawName: string; value?: string },
) {
  const option = options[token.name]
  if (option === undefined) {
    const near = nearest(token.name, Object.keys(options))
    throw new UsageError(
      `millrace ${verb.name} has no option ${token.rawName}${near ? `, did you mean --${near}?` : ''} ` +
        `(millrace ${verb.name} --help lists them)`,
    )
  }
  if (option.type === 'flag') {
    if (token.value !== undefined) throw new UsageError(`${token.rawName} takes no value`)
    return true
  }
  if (token.value === undefined)
    throw new UsageError(`${token.rawName} needs a value: ${token.rawName} ${valueName(option)}`)
  if (option.type === 'text' || option.type === 'texts') return expandHome(token.value)
  const number = quantity(option, token.value)
  if (number === undefined) {
    throw new UsageError(`${token.rawName} wants ${wanted(option)}, not "${token.value}"`)
  }
  return number
}

/** The number that a text means; undefined where the option can't be that. */
function quantity({ type, least = 0, most = Infinity }: Option, text: string): number | undefined {
  const parsed = { bytes: parseBytes, amount: parseAmount }[type as string]
  const number = parsed ? parsed(text) : text.trim() === '' ? undefined : Number(text)
  if (number === undefined || !Number.isFinite(number) || number < least || number > most) return undefined
  return type === 'count' && !Number.isSafeInteger(number) ? undefined : number
}

function wanted({ type, least = 0, most }: Option): string {
  if (type === 'bytes') return `an amount such as 256MiB or 3e9${least > 0 ? `, from ${least} bytes on` : ''}`
  if (type === 'amount') return 'an amount such as 100B, 1.5M or 3e9'
  return `a ${type === 'count' ? 'whole ' : ''}number from ${least}${most === undefined ? '' : ` to ${most}`}`
}

/** `--workers` of verbs that make no feed: threads. Each takes some 40 MB. */
export const THREADS = {
  workers: {
    type: 'count',
    most: 512,
    about: 'threads (as many as there are cores; 0: the calling one)',
  },
} as const satisfies Record<string, Option>

function checkArguments(verb: Command, args: readonly string[]): void {
  const needed = verb.args.filter(arg => !arg.optional)
  if (args.length < needed.length) {
    const missing = needed[args.length]
    throw new UsageError(`millrace ${verb.name} needs ${missing.name} (${missing.about}): ${usage(verb)}`)
  }
  if (args.length > verb.args.length && !verb.args.at(-1)?.many) {
    throw new UsageError(
      `millrace ${verb.name} does not know what to do with "${args[verb.args.length]}": ${usage(verb)}`,
    )
  }
}

/** `millrace pack SRC [options]` */
export function usage(verb: Command): string {
  if (verb.verbs !== undefined) return `millrace ${verb.name} <verb> [arguments] [options]`
  const args = verb.args.map(arg => {
    const name = arg.many ? `${arg.name}…` : arg.name
    return arg.optional ? `[${name}]` : name
  })
  return ['millrace', verb.name, ...args, '[options]'].join(' ')
}

/** The help of a verb with others below it: what each is for. */
export async function groupHelp(verb: Command, columns = 100): Promise<string> {
  const below = await Promise.all(Object.values(verb.verbs ?? {}).map(load => load()))
  return [
    `${usage(verb)}\n\n  ${wrap(verb.about ?? verb.summary, columns - 2).join('\n  ')}`,
    pairs(below.map(({ name, summary }) => [`  ${name.slice(verb.name.length + 1)}`, summary])),
    examplesOf(verb),
    `millrace ${verb.name} <verb> --help says more, with an example. Every verb takes --json.`,
  ].join('\n\n')
}

function examplesOf(verb: Command): string {
  return `Examples\n${verb.examples.map(([line, about]) => `  # ${about}\n  ${line}`).join('\n')}`
}

/** The verb's own help. */
export function help(verb: Command, columns = 100): string {
  const blocks = [`${usage(verb)}\n\n  ${wrap(verb.about ?? verb.summary, columns - 2).join('\n  ')}`]
  if (verb.args.length > 0)
    blocks.push(`Arguments\n${indent(pairs(verb.args.map(arg => [arg.name, arg.about])))}`)
  const shown = Object.entries<Option>({ ...verb.options, ...COMMON }).filter(([, option]) => !option.hidden)
  const options = shown.map(([name, option]) => {
    const value = option.type === 'flag' ? '' : ` ${valueName(option)}`
    const short = option.short ? `-${option.short}, ` : ''
    const usual = option.default === undefined ? '' : ` (${option.default})`
    return [`${short}--${name}${value}`, option.about + usual] as const
  })
  blocks.push(`Options\n${indent(pairs(options))}`)
  blocks.push(examplesOf(verb))
  return blocks.join('\n\n')
}

function valueName(option: Option): string {
  return (
    option.value ??
    { flag: '', text: 'TEXT', texts: 'TEXT', number: 'N', count: 'N', amount: 'N', bytes: 'BYTES' }[
      option.type
    ]
  )
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ')
}
