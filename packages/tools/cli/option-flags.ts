/** Options of a run as flags of the verbs: what the rows of the table (core/deliver/option-table.ts) say of them. */
import { OPTIONS, type OptionFlag, type OptionRow } from '../../core/deliver/option-table.js'
import type { OpenOptions } from '../../core/deliver/options.js'
import type { Option } from './command.js'

type Rows = typeof OPTIONS
type Verb = { [K in keyof Rows]: FlagOf<K>['verbs'][number] }[keyof Rows]
type FlagOf<K extends keyof Rows> = Rows[K] extends { flag: infer F extends OptionFlag } ? F : never
type NameOf<K extends keyof Rows> = FlagOf<K> extends { name: infer N extends string } ? N : K

/** The flags of a verb, each of its own type. */
export type FlagsOf<V> = {
  [K in keyof Rows as V extends FlagOf<K>['verbs'][number] ? NameOf<K> : never]: Option & {
    type: FlagOf<K>['type']
    default?: undefined
  }
}

/** Rows with flags, by the names of the options. */
const ROWS = Object.entries(OPTIONS as Readonly<Record<string, Partial<OptionRow>>>).flatMap(
  ([name, { flag, sentence = '', default: usual }]) =>
    flag === undefined ? [] : [{ name, flag, sentence, usual }],
)

/** The flags that the table gives a verb, or those of these options. */
export function flagsOf<V extends Verb>(verb: V): FlagsOf<V> {
  const flags = ROWS.filter(({ flag }) => flag.verbs.includes(verb)).map(
    ({ name, flag, sentence, usual }) => {
      const { type, value } = flag
      const about = usual === undefined || usual === false ? sentence : `${sentence} (${usual})`
      return [flag.name ?? name, { type, about, ...(value !== undefined && { value }) }]
    },
  )
  return Object.fromEntries(flags) as FlagsOf<V>
}

/** The options of a run that the table's flags of a verb say. Those that were not given are left out. */
export function optionsOf(verb: Verb, values: object): OpenOptions {
  const given = values as Record<string, unknown>
  const options: Record<string, unknown> = {}
  for (const { name, flag } of ROWS.filter(({ flag }) => flag.verbs.includes(verb))) {
    const value = given[flag.name ?? name]
    if (value === undefined) continue
    const { shape } = OPTIONS[name as keyof OpenOptions]
    options[name] = shape(read(flag, value), `options.${name}`)
  }
  return options as OpenOptions
}

/** What a flag's value means. Amounts may be fractions of a unit: `0.29B`. */
function read({ type, read }: OptionFlag, value: unknown): unknown {
  if (type === 'amount') return Math.ceil(value as number)
  return read === undefined ? value : read(value as string)
}
