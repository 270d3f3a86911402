/**
 * The one table of options of a run. From a row come: the type of the option (`OpenOptions`), its check, its flags of the command
 * line (tools/cli/option-flags.ts), and, by `npm run generate`, Python's parameter with its docstring, and the row in
 * docs/start.md. To add an option is to add a row; where the engine is to use it, `fillOptions` reads it.
 */
import {
  boolean,
  type InputOf,
  integer,
  isObject,
  number,
  object,
  oneOf,
  or,
  type Parser,
  single,
  text,
  unchecked,
  withDefault,
} from '../basics/shape.js'
import { MAX_DEPTH, MAX_MAKERS } from '../batch/control-words.js'
import type { Affinity } from '../engine/bind/policy.js'
import type { State } from '../order/state.js'
import type { OnProgress } from '../source/source.js'
import { DEPTH, TIMEOUT } from './protocol-facts.js'

/** An option. Its sentence begins small and has no full stop: the help, docstrings and tables use it as it is. */
export interface OptionRow<Out = unknown, In = Out> {
  /** What Node takes; missing where only Python has the option. */
  shape?: Parser<Out, In>
  /** Used where nothing is given; a text in words, if it is no value: `the launcher's`. */
  default?: string | number | boolean
  sentence: string
  /** A second one, where there is room. */
  more?: string
  /** The page of docs/ and the heading: `measure.md#cores`. */
  page?: string
  flag?: OptionFlag
  python?: PythonParameter
}

/**
 * An option that is gone. For one release it is accepted all the same: it has no effect, and a notice says what to do instead.
 * `of`: verbs and functions that took it; `open` is Python's Feed, too.
 */
export interface RemovedOption {
  of: readonly string[]
  /** On the command line a value follows it. */
  valued?: true
  instead: string
}

/** The option as a flag of some verbs. */
export interface OptionFlag {
  type: 'flag' | 'text' | 'texts' | 'number' | 'count' | 'amount' | 'bytes'
  verbs: readonly string[]
  /** `--plugin`, where it is not called as the option is. */
  name?: string
  /** What stands for the value in the help: `N`. */
  value?: string
  /** What the flag's text means, where it is no text. */
  read?: (text: string) => unknown
}

/** The option as a parameter of Python's Feed, where it has one. */
export interface PythonParameter {
  type: string
  /** Without one: the row's default, or None. */
  default?: string
  /** What is different there. */
  sentence?: string
  /** It is handed to the engine by its name here, or by this one; otherwise Python itself uses it. */
  engine?: true | string
}

const FEEDING = ['run', 'diagnose', 'bench'] as const
const OPENING = ['run', 'diagnose', 'dashboard'] as const
const READING = ['index', 'inspect', 'pack', 'plan', 'verify'] as const
const PROMETHEUS = 'let Prometheus watch prometheus(), or read the run log (option log)'
const PATHS = '"Sequence[str | os.PathLike[str]]"'

/** A rank among the ranks that share the rows of a data-parallel rank, and which parts of a row it gets. */
const sequence = object({
  rank: integer({ min: 0, max: 2 ** 16 }),
  world: integer({ min: 1, max: 2 ** 16 }),
  layout: withDefault(oneOf(['zigzag', 'contiguous'] as const, 'layout'), 'zigzag'),
})

/** `0/2` or `0/2/contiguous`. What is none of these is refused by the option's shape. */
function sequenceOf(text: string): unknown {
  const [, rank, world, layout] = /^(\d+)\/(\d+)(?:\/(\w+))?$/.exec(text) ?? []
  return rank === undefined ? text : { rank: Number(rank), world: Number(world), layout }
}

function isFolder(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/** `4`, or a word such as `auto`. */
function numberOrWord(text: string): unknown {
  return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
}

export const OPTIONS = {
  workers: {
    shape: or('auto', integer({ min: 0, max: MAX_MAKERS })),
    default: 'auto',
    sentence: 'worker threads; 0: everything happens in the calling thread',
    more:
      'Auto: the cores this process may use (affinity, cpuset and quota of the control group), less 1, or less 2 for each ' +
      'GPU; at least 1',
    page: 'measure.md#tuning',
    flag: { type: 'text', value: 'N', verbs: [...OPENING, 'demo', 'plan'], read: numberOrWord },
    python: { type: 'Union[int, str]', engine: true },
  },
  affinity: {
    shape: unchecked<Affinity>(),
    default: 'off',
    sentence:
      'the cores that workers run on: "auto" (one each, near the GPU), or a list such as "2-7,10" or [2, 3]',
    page: 'measure.md#cores',
    flag: { type: 'text', value: 'CORES', verbs: ['run', 'diagnose', 'serve'] },
    python: { type: 'Union[str, Sequence[int], None]', default: 'None', engine: true },
  },
  depth: {
    shape: integer({ min: 1, max: MAX_DEPTH }),
    default: `${DEPTH}, and tuned`,
    sentence: `batches made ahead: slots in use, 1 to ${MAX_DEPTH}`,
    flag: { type: 'count', value: 'N', verbs: OPENING },
    python: { type: 'Optional[int]', engine: true },
  },
  tune: {
    shape: oneOf(['auto', 'all', 'off'] as const, 'way'),
    default: 'auto',
    sentence: 'what is tuned while it runs: "auto" what is not given, "all" also what is, "off" nothing',
    page: 'measure.md#tuning',
    flag: { type: 'text', value: 'WHAT', verbs: ['run'] },
    python: { type: 'Optional[str]', default: 'None', engine: true },
  },
  rank: {
    shape: unchecked<number>(),
    default: "the launcher's",
    sentence: 'data-parallel rank, given together with world',
    page: 'start.md#ranks',
    flag: { type: 'count', value: 'R', verbs: FEEDING },
    python: { type: 'Optional[int]' },
  },
  world: {
    shape: unchecked<number>(),
    default: "the launcher's",
    sentence: 'number of data-parallel ranks',
    page: 'start.md#ranks',
    flag: { type: 'count', value: 'W', verbs: FEEDING },
    python: { type: 'Optional[int]' },
  },
  sequence: {
    shape: sequence,
    sentence: 'context-parallel rank, which gets its part of each row of tokens',
    more: 'As {rank, world, layout}; layout is "zigzag" or "contiguous"',
    page: 'language-models.md#ranks-context-parallelism-and-speed',
    flag: { type: 'text', value: 'R/W[/contiguous]', verbs: ['run'], read: sequenceOf },
    python: {
      type: 'Any',
      sentence: 'as (rank, world), (rank, world, "contiguous") or mesh["cp"]',
      engine: true,
    },
  },
  epochs: {
    shape: or(null, integer({ min: 0, max: 2 ** 31 })),
    default: 'one',
    sentence: 'one loop spans so many epochs',
    more: 'null: it never ends, as over shuffled tokens by default',
    flag: { type: 'count', value: 'N', verbs: ['run'] },
    python: {
      type: 'Union[int, None, Once]',
      default: 'ONCE',
      sentence: 'None: it never ends, as over shuffled tokens by default',
    },
  },
  steps: {
    shape: integer({ min: 0, max: 2 ** 52 }),
    sentence: 'one loop ends after so many steps at the latest',
    flag: { type: 'count', value: 'N', verbs: ['run'] },
    python: { type: 'Optional[int]', engine: 'limit' },
  },
  tokens: {
    shape: integer({ min: 1 }),
    sentence: 'one loop ends with the step that brings so many tokens, those of all ranks together',
    flag: { type: 'amount', value: 'N', verbs: ['run'] },
    python: { type: 'Optional[int]' },
  },
  state: {
    shape: single<State>('a state that was saved', isObject),
    sentence: 'go on from a saved state',
    python: { type: 'Optional[Mapping[str, Any]]' },
  },
  variant: {
    shape: text,
    sentence: 'the variant of the feed to open: its merge patch is applied first',
    python: { type: 'Optional[str]' },
  },
  root: {
    shape: text,
    default: 'the working directory',
    sentence: 'against which relative paths of a feed given as JSON are resolved',
  },
  allowCode: {
    shape: boolean,
    default: false,
    sentence: 'a definition in JSON may run the code that it names (functions, Python, kernels)',
    page: 'troubleshoot.md#trust',
    flag: { type: 'flag', name: 'allow-code', verbs: [...FEEDING, ...READING, 'dashboard', 'serve'] },
    python: { type: 'bool' },
  },
  python: {
    shape: unchecked<string | readonly string[]>(),
    default: 'MILLRACE_PYTHON, or python3',
    sentence: 'the interpreter of functions and datasets in Python, or, as a list, the whole command',
  },
  plugins: {
    shape: unchecked<readonly (string | URL)[]>(),
    sentence: 'modules with sources or stores of your own, by path or file: URL',
    page: 'extend.md',
    flag: {
      type: 'texts',
      name: 'plugin',
      value: 'URL',
      verbs: [...FEEDING, ...READING, 'dashboard', 'serve', 'tokens'],
    },
    python: { type: PATHS, default: '()' },
  },
  cache: {
    shape: integer({ min: 0, max: 2 ** 40 }),
    default: 'what loads all once',
    sentence: 'bytes of the block cache, where the order is windowed or rows share row groups or chunks',
    page: 'define.md#row-groups-and-chunks',
    flag: { type: 'bytes', value: 'BYTES', verbs: ['run', 'diagnose'] },
    python: { type: 'Optional[int]', engine: true },
  },
  scratch: {
    shape: integer({ min: 2 ** 20, max: 2 ** 32 }),
    default: '512 MiB',
    sentence: 'bytes that the workspace of one worker may grow to',
    flag: { type: 'bytes', value: 'BYTES', verbs: ['run', 'diagnose'] },
    python: { type: 'Optional[int]', engine: true },
  },
  observe: {
    shape: unchecked<'counters' | 'spans'>(),
    default: 'spans',
    sentence: 'how much is written down of what threads do: "counters" or "spans"',
    page: 'measure.md#spans',
    flag: { type: 'text', value: 'LEVEL', verbs: ['run'] },
    python: { type: 'Optional[str]', default: 'None', engine: true },
  },
  name: {
    shape: text,
    default: "its source's",
    sentence: 'what spans, run logs and dashboards call the run',
  },
  log: {
    shape: or(false, single<string>('a folder', isFolder)),
    default: 'MILLRACE_LOG, or none',
    sentence: 'folder for a run log, a line of JSON a second',
    more: 'false: none',
    page: 'measure.md#run-logs',
    flag: { type: 'text', value: 'DIR', verbs: ['run'] },
    python: {
      type: '"str | os.PathLike[str] | bool | None"',
      default: 'None',
      sentence: 'False: none',
      engine: true,
    },
  },
  timeout: {
    shape: number({ above: 0 }, 'seconds, more than 0'),
    default: TIMEOUT,
    sentence: 'seconds that one sample, or on a GPU one batch, may take before the run ends with its name',
    flag: { type: 'number', value: 'S', verbs: FEEDING },
    python: { type: 'float', engine: true },
  },
  progress: {
    shape: unchecked<OnProgress>(),
    sentence: 'called with (done, total, what, unit) of long work before the first batch',
    python: {
      type: 'bool',
      default: 'False',
      sentence: "True prints rank 0's rate, loss and reason every few seconds",
    },
  },
  notice: {
    shape: unchecked<(text: string) => void>(),
    default: 'a warning',
    sentence: 'called with what is worth knowing and no error; () => {} for silence',
  },
  device: {
    shape: text,
    default: 'host memory',
    sentence: '"cuda" or "cuda:1": batches are delivered on that GPU, as DeviceArrays',
    page: 'gpu.md',
  },
  stream: {
    shape: unchecked<bigint | number>(),
    default: "CUDA's default stream",
    sentence: 'with a device: the CUDA stream on which batches are used',
  },
  decode: {
    shape: oneOf(['auto', 'cpu', 'gpu'] as const, 'decoder'),
    default: 'auto',
    sentence:
      'with a device, who decodes images: "cpu", "gpu", or what the tuner finds to be fastest, which stays so and is part of the state',
    more: 'Only pixel values change, and by less than 2/255 on average. With tune: "off", the CPU',
  },
  channelsLast: {
    shape: boolean,
    default: false,
    sentence:
      'with a device: images lie in memory as [n, h, w, c], with the shape [n, c, h, w] and strides to match',
  },
  mesh: {
    sentence: 'a DeviceMesh of one dimension such as mesh["dp"], or a JAX sharding, that has the rank',
    page: 'start.md#ranks',
    python: { type: 'Any' },
  },
  members: {
    default: 1,
    sentence:
      'how many processes on this host take part in this rank (tensor parallelism) and see its batches',
    page: 'start.md#ranks',
    python: { type: 'int' },
  },
  restart: {
    default: true,
    sentence: 'a dead engine is replaced, and goes on at the right place, at most so often (True: 3 times)',
    python: { type: 'Union[bool, int]' },
  },
  socket: {
    sentence: 'the engine of a running millrace serve',
    python: { type: '"str | os.PathLike[str] | None"' },
  },
  trace: {
    sentence:
      'a file for a trace of the run, "run.json.gz" (or .json, .pfw, .pfw.gz, in a folder that is there)',
    page: 'measure.md#traces',
    python: { type: '"str | os.PathLike[str] | None"' },
  },
  tuple: {
    sentence: 'names of fields; loops then give tuples of them',
    python: { type: 'Optional[Sequence[str]]' },
  },
  map: {
    sentence: 'a function (sample, rng) over every sample, in Python processes of the engine',
    page: 'start.md#your-own-python',
    python: { type: 'Optional[Callable[[Any, Any], Any]]' },
  },
  batchMap: {
    sentence: 'a function that gets every finished batch, on the device',
    page: 'start.md#your-own-python',
    python: { type: 'Optional[Callable[[Any], Any]]' },
  },
  alerts: { removed: { of: ['open'], instead: PROMETHEUS } },
  alert: { removed: { of: ['run', 'dashboard'], valued: true, instead: PROMETHEUS } },
  apply: {
    removed: {
      of: ['diagnose'],
      instead:
        'the remedies name their option, and the tuner (tune: "all") tries and keeps such settings by itself',
    },
  },
  control: {
    removed: {
      of: ['dashboard', 'diagnose'],
      instead:
        "the engine's own tuner sets workers and depth; from within the trainer, loader.tune() and feed.tune() do",
    },
  },
  full: {
    removed: {
      of: ['bench'],
      instead: 'one setting is varied after the other, each at the best found before',
    },
  },
  failIf: {
    removed: {
      of: ['bench'],
      valued: true,
      instead: 'let CI look at baseline.pairs that millrace bench --baseline FILE --json prints',
    },
  },
  profile: {
    removed: {
      of: ['bench'],
      valued: true,
      instead: 'the trainer sleeps --step-ms a step: give the mean of the steps there',
    },
  },
  maxDepth: {
    removed: { of: ['open'], instead: 'the depth can be raised to 32, as far as memory allows' },
  },
  nvcomp: { removed: { of: ['open'], instead: 'the device says whether it has nvCOMP' } },
  cpuShare: { removed: { of: ['open'], instead: 'with decode: "auto" the tuner finds who decodes' } },
} as const satisfies Record<string, OptionRow | { removed: RemovedOption }>

type Rows = typeof OPTIONS

/** What may be given for an option. */
export type Given<Name extends keyof Rows> = Rows[Name] extends { shape: infer Shape }
  ? InputOf<Shape>
  : never

/** The level of `observe` that is gone. */
export const FULL_LEVEL = {
  name: 'full',
  notice: 'observe "full" has no effect any more: "spans" is the most that is written down',
}

/** Those that a verb or function took, by their names as Node spells them. */
export function removedOf(taker: string): Map<string, RemovedOption> {
  const removed = Object.entries(OPTIONS).flatMap(([name, row]) =>
    'removed' in row ? [[name, row.removed as RemovedOption] as const] : [],
  )
  return new Map(removed.filter(([, { of }]) => of.includes(taker)))
}

/** The notice of one that was given as `given`. */
export function removedText(given: string, { instead }: RemovedOption): string {
  return `${given} has no effect any more: ${instead}`
}

/** Gives a notice of each removed option that a function was given; by a warning, where there is no other way. */
export function noticeRemoved(taker: string, given: object, notice = warn): void {
  for (const [name, removed] of removedOf(taker)) if (name in given) notice(removedText(name, removed))
}

function warn(text: string): void {
  process.emitWarning(text, 'MillraceNotice')
}
