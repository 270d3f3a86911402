/** `millrace <verb>`: finds the verb, runs it, prints what it has to say, and turns errors into exit statuses. */
import { DefinitionError, MillraceError, nearest } from '../../core/basics/errors.js'
import { version } from '../../core/basics/version.js'
import { loadRegistry } from '../../core/system/node/registry.js'
import { exitNow, ownProcess } from '../../core/system/process/exit.js'
import { fileHandleLimit, filesAWorker, OTHER_FILES } from '../../core/system/process/limits.js'
import { type Command, groupHelp, help, parse, UsageError, type Verbs } from './command.js'
import { askToEnd, INTERRUPTED, onInterrupt, runInterruptHooks } from './interrupt.js'
import { asJson, say } from './say.js'
import { pairs } from './table.js'
import { REMOVED_VERBS, VERBS } from './verbs.js'

/** Exit statuses: failed; the command line was wrong. */
const FAILED = 1
const MISUSED = 2

/** Files that may be open at once. Read now: when no more can be opened, it can't be read any more. */
const FILES = fileHandleLimit()

async function main(words: readonly string[]): Promise<number> {
  await loadRegistry()
  const [name, ...rest] = words
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    const asked = name === 'help' && rest[0] !== undefined ? await find(rest) : undefined
    print(asked ? await helpOf(asked.verb) : await overview())
    return name === undefined ? MISUSED : 0
  }
  if (name === '--version' || name === '-V' || name === 'version') {
    print(version())
    return 0
  }
  const { verb, rest: given } = await find(words)
  const { args, values, given: named, json, help: wanted, progress } = parse(verb, given)
  if (progress !== undefined) (await import('./progress.js')).showProgress(progress)
  if (wanted) {
    print(await helpOf(verb))
    return 0
  }
  if (Array.isArray(values.plugin)) Object.assign(values, { plugin: await loadGivenPlugins(values.plugin) })
  const outcome = await verb.run({ args, values, given: named })
  print(json ? asJson(outcome.json) : outcome.text)
  return outcome.code ?? 0
}

/** Loads the modules of `--plugin`, before a verb looks at anything else. It gets their URLs. */
async function loadGivenPlugins(given: readonly string[]): Promise<string[]> {
  const { loadPlugins, pluginUrls } = await import('../../core/source/plugins.js')
  const urls = pluginUrls(given, '--plugin')
  await loadPlugins(urls)
  return urls
}

/** The verb that words begin with, and the words behind it. A verb may have others below it: `tokens inspect`. */
async function find(
  [name, ...rest]: readonly string[],
  verbs: Verbs = VERBS,
  above = 'millrace',
): Promise<{ verb: Command; rest: readonly string[] }> {
  if (Object.hasOwn(verbs, name)) {
    const verb = await verbs[name]()
    const asked = rest[0] === undefined || rest[0] === '--help' || rest[0] === '-h'
    return verb.verbs === undefined || asked ? { verb, rest } : find(rest, verb.verbs, `${above} ${name}`)
  }
  if (verbs === VERBS && Object.hasOwn(REMOVED_VERBS, name)) {
    throw new UsageError(`the verb "${name}" was removed: ${REMOVED_VERBS[name]}`)
  }
  const near = nearest(name, Object.keys(verbs))
  throw new UsageError(
    name.startsWith('-')
      ? `the verb comes first: ${above} <verb> ${name} (${above} --help lists the verbs)`
      : `${above} has no verb "${name}"${near ? `, did you mean "${near}"?` : ''} (${above} --help lists them)`,
  )
}

function helpOf(verb: Command): string | Promise<string> {
  const { columns } = process.stdout
  return verb.verbs === undefined ? help(verb, columns) : groupHelp(verb, columns)
}

async function overview(): Promise<string> {
  const verbs = await Promise.all(Object.values(VERBS).map(load => load()))
  return [
    `millrace ${version()}: a data engine that keeps GPUs fed`,
    'Usage: millrace <verb> [arguments] [options]',
    pairs(verbs.map(verb => [`  ${verb.name}`, verb.summary])),
    'millrace <verb> --help says more, with an example. Every verb takes --json.',
  ].join('\n\n')
}

function print(text: string): void {
  if (text !== '') say(text, process.stdout)
}

function complain(error: unknown): number {
  // Further lines are indented, so that none of them looks like a message of ours.
  say(`millrace: ${wording(error).replaceAll('\n', '\n  ')}`)
  return error instanceof UsageError || isOption(error) ? MISUSED : FAILED
}

function wording(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (process.env.MILLRACE_DEBUG === '1') return error.stack ?? error.message
  if (isOption(error)) return error.message.replace(/^options\./, '--')
  if (error instanceof MillraceError) return error.message
  if ((error as NodeJS.ErrnoException).code === 'EMFILE') return tooFewFiles()
  // An error of the system is said in words. Anything else is a bug of ours: a report needs its stack.
  return refusal(error) ?? error.stack ?? error.message
}

/** Whether the engine found an option wrong that the command line has given it. */
function isOption(error: unknown): error is DefinitionError {
  return error instanceof DefinitionError && error.path.startsWith('options.')
}

/** Too few files may be open, perhaps even to load Millrace itself: in the words of the budget (engine/plan/budget.ts). */
function tooFewFiles(): string {
  const needed = `${OTHER_FILES}, and ${filesAWorker(FILES)} for each worker`
  return `no more files can be opened, the limit is ${FILES}: a feed needs ${needed}. Raise it with \`ulimit -n\``
}

/** `can't mkdir /x/y: permission denied (EACCES)`, for an error of the system. One without a path says all by itself. */
function refusal(error: NodeJS.ErrnoException): string | undefined {
  const { code, syscall, path, message } = error
  if (code === undefined || syscall === undefined) return undefined
  if (path === undefined) return message
  const reason = message.slice(message.indexOf(': ') + 2, message.indexOf(`, ${syscall}`))
  return `can't ${syscall} ${path}: ${reason} (${code})`
}

function interrupt(status: number): void {
  runInterruptHooks()
  // Last of all: process.exit would wait for a thread that is blocked in a read.
  process.on('exit', exitNow)
  process.exit(status)
}

// The reader of our output may leave early (`millrace inspect x | head`): that is no error of ours.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    interrupt(0)
  })
}

process.on('SIGINT', () => askToEnd() || interrupt(INTERRUPTED))
process.on('SIGTERM', () => askToEnd(true) || interrupt(143))
ownProcess()
onInterrupt(() => process.stderr.isTTY && process.stderr.write('\r\x1b[K'))

/** Called when Node has nothing left to do, and `main` has not ended. */
const neverEnding = (): void => {
  process.exitCode = complain(
    new MillraceError(
      'this would never end: there is nothing left to wait for. An `await` at the top of a module of yours does not end, ' +
        'most likely',
    ),
  )
}
process.once('beforeExit', neverEnding)

main(process.argv.slice(2)).then(
  code => {
    process.off('beforeExit', neverEnding)
    // A promise that a user's function left behind may have failed meanwhile, and set the exit code.
    if (code !== 0 || process.exitCode === undefined) process.exitCode = code
  },
  error => {
    process.off('beforeExit', neverEnding)
    process.exitCode = complain(error)
  },
)
