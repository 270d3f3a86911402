// Every file that is generated, and from what. A table that two languages share stands in one TypeScript file.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assemblyConstant, assemblyModule, cudaConstant, cudaConstants, cudaHeader } from './cuda.mjs'
import { controlTable, partlyGenerated, slotTable } from './docs.mjs'
import { dispatchHeader, opCodes, operatorRows, operatorsModule, torchvisionModule } from './operators.mjs'
import { choices, engineNames, openOptions, optionTable, parameterList, parameters } from './options.mjs'
import {
  constant,
  constantName,
  constants,
  dictionary,
  hexadecimal,
  literal,
  pythonModule,
  records,
} from './python.mjs'
import { readTable } from './read.mjs'
import { builderExports, sourcesModule } from './sources.mjs'

const PYTHON = 'python/millrace/_generated'
const HEADER = 'packages/pixels/transform/kernels/cuda/facts.cuh'
const DISPATCH = 'packages/pixels/transform/kernels/cuda/operators.cuh'
const OPERATORS = 'packages/pixels/operators'
const ASSEMBLY = 'packages/pixels/transform/kernels/assembly/generated/facts.ts'
const BUILDERS = 'packages/all/builders.ts'
const DEFINE = 'docs/define.md'
const PROTOCOL = 'docs/protocol.md'
const OPTION_TABLE = 'packages/core/deliver/option-table.ts'
const OPTIONS = 'packages/core/deliver/options.ts'
const START = 'docs/start.md'
const FEED = 'python/millrace/feed.py'
/** The end of the docstring of `Feed`: its options. */
const PARAMETER_LIST = /(in\n {4}which order, with which values:\n\n)[\s\S]*?(?= {4}"""\n)/
/** It runs outside of the package, and imports nothing of it. */
const WORKER = 'python/millrace/_data/worker_values.py'

const RANDOM = ['MIX_FIRST', 'MIX_SECOND', 'KEY_SEED', 'KEY_POSITION', 'KEY_EPOCH', 'KEY_KEY', 'KEY_HIGH']
const COLOR = ['LUMINANCE_RED', 'LUMINANCE_GREEN', 'LUMINANCE_BLUE', 'HUE_SCALE']

/**
 * The files, as texts by path. `root` is the repository's folder; `importModule` imports a file of `packages/` by its path
 * there: built, or as a test has it.
 */
export async function generatedFiles(root, importModule) {
  const table = file => readTable(root, file, importModule)
  const control = await table('packages/core/batch/control-words.ts')
  const slot = await table('packages/core/batch/slot-words.ts')
  const parameter = await table('packages/pixels/transform/device/parameter-words.ts')
  const array = await table('packages/pixels/transform/device/array-words.ts')
  const dtype = await table('packages/core/basics/dtype.ts')
  const random = await table('packages/core/basics/random-words.ts')
  const weights = await table('packages/pixels/transform/place/weights.ts')
  const color = await table('packages/pixels/operators/color-facts.ts')
  const cuda = await table('packages/cuda/driver/numbers.ts')
  const advice = await table('packages/cuda/driver/advice.ts')
  const nvjpeg = await table('packages/cuda/driver/libraries/nvjpeg-status.ts')
  const device = await table('packages/cuda/device/facts.ts')
  const decoder = await table('packages/core/basics/decoder.ts')
  const judge = await table('packages/core/deliver/node/judge-facts.ts')
  const launchers = await table('packages/core/deliver/launcher.ts')
  const protocol = await table('packages/core/deliver/protocol-facts.ts')
  const spans = await table('packages/core/spans/span-words.ts')
  const mistakes = await table('packages/core/basics/mistakes.ts')
  const options = (await table(OPTION_TABLE))('OPTIONS').value

  const files = {}
  const python = (name, from, about, parts) => {
    files[`${PYTHON}/${name}.py`] = pythonModule(from, about, parts.flat())
  }

  python(
    'control_words',
    'packages/core/batch/control-words.ts',
    'What lies where on the control page of a ring.',
    [
      ...['CONTROL_BYTES', 'MAX_DEPTH', 'MAX_MAKERS'].map(name => constant(control(name))),
      constants(control('Word')),
      constants(control('At')),
      ...['CLAIM_BITS', 'DECODER_FOUND'].map(name => constant(control(name))),
    ],
  )
  python('slot_words', 'packages/core/batch/slot-words.ts', 'What lies where in the header of a slot.', [
    constant(slot('HEADER_BYTES')),
    ...['Header', 'Stamp', 'RowStatus'].map(name => constants(slot(name))),
  ])
  python(
    'parameter_words',
    'packages/pixels/transform/device/parameter-words.ts',
    'The words of a parameter row: what is to be done to one picture.',
    [
      ...['HEADER_WORDS', 'OP_WORDS', 'MIX_WORDS', 'MOST_MIXES'].map(name => constant(parameter(name))),
      ...['Form', 'Word'].map(name => constants(parameter(name))),
    ],
  )
  python(
    'array_words',
    'packages/pixels/transform/device/array-words.ts',
    'The head of a row that holds a compressed array.',
    [
      ...['HEAD_BYTES', 'READ_BEHIND'].map(name => constant(array(name))),
      ...['Head', 'ArrayForm'].map(name => constants(array(name))),
    ],
  )
  const dtypes = dtype('DTYPES').value
  const column = (name, says, fact) =>
    dictionary(
      {
        name,
        says,
        value: Object.fromEntries(
          Object.entries(dtypes)
            .filter(([, facts]) => facts[fact] !== undefined)
            .map(([key, facts]) => [key, facts[fact]]),
        ),
      },
      { bytes: 'int', dlpack: 'Tuple[int, int]', numpy: 'str', kernel: 'int' }[fact],
    )
  python('dtypes', 'packages/core/basics/dtype.ts', 'Element types: their size, and what others call them.', [
    column('BYTES', 'Bytes of an element.', 'bytes'),
    column(
      'DLPACK',
      "DLPack's code (0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool) and bits. Lanes are always 1.",
      'dlpack',
    ),
    column('NUMPY', "NumPy's name. It has no bf16 of its own: its bits, as u16.", 'numpy'),
    column(
      'KERNEL',
      'The number in the kernels. They make no bool: a field of bool is made as u8.',
      'kernel',
    ),
  ])
  python(
    'cuda',
    'packages/cuda/driver/numbers.ts',
    "Numbers and names of NVIDIA's libraries, from their headers.",
    [
      ...['STREAM_NON_BLOCKING', 'EVENT_FLAGS', 'HOST_PORTABLE', 'QUEUES_VARIABLE', 'MOST_QUEUES'].map(name =>
        constant(cuda(name)),
      ),
      constant(cuda('COMPILE_OPTIONS')),
      ...['CudaStatus', 'DeviceAttribute', 'MemoryType', 'NvjpegBackend'].map(name => constants(cuda(name))),
      ...['NVJPEG_OUTPUT_RGBI', 'NVJPEG_INTERPOLATE_CHROMA', 'NVCOMP_MAJORS', 'NVCOMP_BACKEND_CUDA'].map(
        name => constant(cuda(name)),
      ),
      constant(cuda('NVCOMP_OPTIONS_BYTES')),
      ...['NVCOMP_CODECS', 'NVCOMP_STATUSES'].map(name => dictionary(cuda(name), 'str')),
    ],
  )
  python('advice', 'packages/cuda/driver/advice.ts', "What to do about errors of NVIDIA's libraries.", [
    dictionary(advice('ADVICE'), 'str'),
  ])
  python('nvjpeg_status', 'packages/cuda/driver/libraries/nvjpeg-status.ts', nvjpegAbout, [
    records(nvjpeg('NVJPEG_STATUSES'), 'NvjpegStatus', 'A status, and what is done about it.', {
      status: 'int',
      name: 'str',
      decoding: 'str',
      opening: 'str',
    }),
  ])
  python(
    'device',
    'packages/cuda/device/facts.ts',
    'How the device stage shares out memory and launches kernels.',
    [
      ...['DEVICE_ALIGN', 'DEVICE_BYTES', 'LANES', 'SCRATCH_PARTS', 'TURN_PARTS', 'COPY_BLOCKS'].map(name =>
        constant(device(name)),
      ),
      ...['GENERATE_THREADS', 'GENERATE_ROWS', 'GENERATE_HEADER', 'BATCH_BYTES'].map(name =>
        constant(device(name)),
      ),
      constants(device('BatchAt')),
      kernels(device('KERNELS').value),
    ],
  )
  python('decoder', 'packages/core/basics/decoder.ts', 'Who decodes images, as one number.', [
    ...['SHARES', 'CPU', 'GPU'].map(name => constant(decoder(name))),
  ])
  python('judge', 'packages/core/deliver/node/judge-facts.ts', 'By which numbers bad samples are judged.', [
    ...['LISTED', 'FIRST', 'FEW', 'FEW_ALIKE', 'NAMED', 'MOST_CAUSES', 'TOLD_CAUSES', 'EXAMPLES'].map(name =>
      constant(judge(name)),
    ),
  ])
  python('launchers', 'packages/core/deliver/launcher.ts', 'Which variables tell a process its rank.', [
    records(launchers('LAUNCHERS'), 'Launcher', 'What starts the ranks of a job.', {
      name: 'str',
      rank: 'str',
      world: 'str',
    }),
  ])
  python(
    'protocol',
    'packages/core/deliver/protocol-facts.ts and observe',
    'What the engine and its clients agree on.',
    [
      ...['PROTOCOL', 'HEARTBEAT', 'DEPTH', 'TIMEOUT', 'STALL'].map(name => constant(protocol(name))),
      constant({
        name: 'OLDEST_NODE',
        value: oldestNode(root),
        says: 'The oldest Node on which the engine runs, as package.json has it.',
      }),
    ],
  )

  python(
    'span_words',
    'packages/core/spans/span-words.ts',
    'Spans: their kinds, and how they lie in memory.',
    [
      ...['SpanKind', 'SpanLevel', 'LaneKind', 'HeadAt', 'LaneAt', 'RingAt'].map(name =>
        constants(spans(name)),
      ),
      ...['RecordAt', 'OwnAt', 'SumAt'].map(name => constants(spans(name))),
      ...['SPAN_NAMES', 'LAST_WORK', 'LEVEL_NAMES', 'LANE_NAMES', 'SPANS_MAGIC', 'SPANS_VERSION'].map(name =>
        constant(spans(name)),
      ),
      ...['SPANS_NAME', 'LANES', 'FIRST_OTHER_LANE', 'RINGS', 'RECORD_BYTES', 'RECORDS', 'LANE_BYTES'].map(
        name => constant(spans(name)),
      ),
      ...['RING_BYTES', 'COUNTER_BYTES', 'OWN_BYTES', 'SUM_BYTES', 'SUMS'].map(name => constant(spans(name))),
      ...['LANES_AT', 'RINGS_AT', 'COUNTERS_AT', 'RECORDS_AT', 'JOIN_MS', 'COUNTERS_JOIN_MS'].map(name =>
        constant(spans(name)),
      ),
    ],
  )

  files[`${PYTHON}/torchvision_names.py`] = await torchvisionModule(importModule, mistakes('TORCHVISION'))
  python('options', OPTION_TABLE, 'Options of a feed.', [
    dictionary(
      {
        name: 'ENGINE_NAMES',
        says: 'Options that the engine is given, by their names here: what it calls them.',
        value: engineNames(options),
      },
      'str',
    ),
    dictionary(
      { name: 'CHOICES', says: 'Options that are one of some words.', value: choices(options) },
      'Tuple[str, ...]',
    ),
    dictionary(
      {
        name: 'REMOVED',
        says: 'Options that are gone, by the function that took them and their name: what to do instead.',
        value: Object.fromEntries(
          Object.entries(options).flatMap(([name, { removed }]) =>
            (removed?.of ?? []).map(taker => [
              `${taker}.${constantName(name).toLowerCase()}`,
              removed.instead,
            ]),
          ),
        ),
      },
      'str',
    ),
  ])
  files[OPTIONS] = partlyGenerated(root, OPTIONS, { OpenOptions: openOptions(options) })
  const feed = partlyGenerated(root, FEED, { parameters: parameters(options) })
  files[FEED] = feed.replace(PARAMETER_LIST, (_, before) => before + parameterList(options))
  files[START] = partlyGenerated(root, START, {
    options: optionTable(options, false),
    'options of Python': optionTable(options, true),
  })
  python('random_words', 'packages/core/basics/random-words.ts', 'Numbers of the keyed random generator.', [
    ...RANDOM.map(name => hexadecimal(random(name))),
    constant(random('ROUNDS')),
  ])
  files[`${PYTHON}/operators.py`] = await operatorsModule(importModule)
  files[`${PYTHON}/sources.py`] = await sourcesModule(root, importModule)
  files[BUILDERS] = await builderExports(root, importModule)

  const codes = Object.entries(dtypes).filter(([, { kernel }]) => kernel !== undefined)
  files[HEADER] = cudaHeader(
    [
      ...[
        'packages/pixels/transform/device/parameter-words.ts',
        'packages/core/basics/dtype.ts',
        'packages/core/basics/random-words.ts',
      ],
      ...['packages/pixels/transform/place/weights.ts', 'packages/pixels/operators/color-facts.ts'],
    ],
    'Numbers that the kernels share with those who call them.',
    [
      ...['HEADER_WORDS', 'OP_WORDS', 'MIX_WORDS'].map(name => cudaConstant(parameter(name))),
      ...['Form', 'Word', 'MixKind'].map(name => cudaConstants(parameter(name))),
      cudaConstants(await opCodes(importModule)),
      cudaConstants(parameter('FILTER_CODES'), 'Filter'),
      cudaConstants(parameter('PAD_CODES'), 'PadMode'),
      cudaConstants({
        name: 'Dtype',
        says: 'Element types.',
        value: Object.fromEntries(codes.map(([key, { kernel }]) => [key.toUpperCase(), kernel])),
        entries: {},
      }),
      ...[...RANDOM, 'WEYL'].map(name => cudaConstant(random(name), 'unsigned')),
      cudaConstant(random('ROUNDS')),
      cudaConstant(weights('MOST_BITS')),
      ...COLOR.map(name => cudaConstant(color(name), 'float')),
    ],
  )
  const folders = readdirSync(join(root, OPERATORS)).filter(name =>
    existsSync(join(root, OPERATORS, name, 'step.cuh')),
  )
  files[DISPATCH] = await dispatchHeader(importModule, folders.sort())
  files[ASSEMBLY] = assemblyModule(
    ['packages/core/basics/random-words.ts', 'packages/pixels/operators/color-facts.ts'],
    [
      ...['MIX_FIRST', 'MIX_SECOND', 'WEYL'].map(name => assemblyConstant(random(name), 'i32')),
      ...COLOR.map(name => assemblyConstant(color(name), 'f32')),
    ],
  )

  // Arrays of a sample, as they are stored: NumPy has no bf16, and batches have no u64.
  const named = [...Object.entries(dtypes).filter(([name]) => name !== 'bf16'), ['u64', { numpy: '<u8' }]]
  files[WORKER] = partlyGenerated(root, WORKER, {
    dtypes: {
      from: 'packages/core/basics/dtype.ts',
      part: `_DTYPES = {\n${named.map(([name, { numpy }]) => `    "${name}": "${numpy}",\n`).join('')}}`,
    },
  })

  const rows = keep => operatorRows(importModule, keep)
  const tables = {
    geometry: await rows(({ stage, moves, colors }) => stage === 'pixels' && moves && !colors),
    colour: await rows(({ stage, colors }) => stage === 'pixels' && colors),
    'the end': await rows(({ stage }) => stage === 'values' || stage === 'final'),
    batches: await rows(({ stage }) => stage === 'batch'),
  }
  files[DEFINE] = partlyGenerated(
    root,
    DEFINE,
    Object.fromEntries(
      Object.entries(tables).map(([name, part]) => [
        `operators of ${name}`,
        { from: 'packages/pixels/operators/registry.ts', part },
      ]),
    ),
  )
  files[PROTOCOL] = partlyGenerated(root, PROTOCOL, {
    'control page': {
      from: 'packages/core/batch/control-words.ts',
      part: controlTable(control, { heartbeat: protocol('HEARTBEAT').value }),
    },
    'slot header': { from: 'packages/core/batch/slot-words.ts', part: slotTable(slot) },
  })
  return files
}

const nvjpegAbout = `What is done about nvJPEG's statuses. When decoding: "go on"; "redo", a picture was refused, and a worker
decodes it on the CPU; "reopen", the same, but nvJPEG is opened anew before it is used again; "fatal", it is
about the GPU or the library, and the run ends. When opening the JPEG engines: "go on"; "cores", the GPU's
cores are used instead; "fatal".`

/** Threads and arguments of each kernel. */
function kernels(value) {
  const lines = Object.entries(value).flatMap(([name, facts]) => [
    `#: Threads of a block of \`\`${name}\`\`, and the types of its arguments.`,
    `${name.toUpperCase()}_THREADS = ${facts.threads}`,
    `${name.toUpperCase()}_ARGUMENTS = (\n${facts.arguments.map(type => `    ${literal(type)},\n`).join('')})`,
  ])
  return lines.join('\n')
}

/** Major and minor version. */
function oldestNode(root) {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return /(\d+)\.(\d+)/.exec(engines.node).slice(1).map(Number)
}
