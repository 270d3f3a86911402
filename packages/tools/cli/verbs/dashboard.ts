/** `millrace dashboard`: a page that shows whether the GPU waits, why, and what to do. */

import { hostname, userInfo } from 'node:os'
import { fileURLToPath } from 'node:url'
import { printable } from '../../../core/basics/errors.js'
import { version } from '../../../core/basics/version.js'
import type { Dashboard } from '../../../observe/dashboard/dashboard.js'
import type { OwnRun } from '../../../observe/dashboard/run/own-run.js'
import { command, type Outcome, UsageError } from '../command.js'
import { onInterrupt } from '../interrupt.js'
import { flagsOf, optionsOf } from '../option-flags.js'
import { notice } from '../progress.js'
import { asJson, say } from '../say.js'

const LOCAL = '127.0.0.1'
/** Dollars for an hour of a GPU, by default: what large clouds ask for an H100, about. */
const PRICE = 3
const MOST_PORT = 65535

export const dashboard = command({
  name: 'dashboard',
  summary: 'shows in a browser whether the GPU waits, why, and what to do',
  about:
    'Serves a page about a run on this machine, in Node or Python: the one of --attach PID, the one run that is there, or one ' +
    'that you choose on the page. With FEED it starts a run of its own, whose trainer sleeps --step-ms a step, and which ends ' +
    'with the dashboard. It only reads. Only who has the address with its token can open the page.',
  args: [{ name: 'FEED', about: 'a feed, as `millrace run` takes it', optional: true }],
  options: {
    attach: { type: 'count', value: 'PID', about: 'the trainer to look at, or its engine', least: 1 },
    ring: { type: 'text', value: 'NAME', about: 'with --attach: which feed, by name or number' },
    port: { type: 'count', value: 'N', about: 'where to listen (4680, or the next that is free)' },
    host: { type: 'text', value: 'NAME', about: 'address to listen at', default: LOCAL },
    price: {
      type: 'number',
      value: 'DOLLARS',
      about: 'an hour of one GPU, for what idling costs',
      default: PRICE,
    },
    log: { type: 'text', value: 'DIR', about: 'run logs: what was before, and ranks on other nodes' },
    open: { type: 'flag', about: 'open the page in a browser (xdg-open)' },
    'step-ms': {
      type: 'number',
      value: 'MS',
      about: 'with FEED: length of a simulated training step',
      default: 0,
    },
    ...flagsOf('dashboard'),
  },
  examples: [
    ['millrace dashboard', 'the run on this machine, or a list of them'],
    ['millrace dashboard --attach 4711', 'the trainer with this process number'],
    ['millrace dashboard cats.json --step-ms 50', 'how a trainer with steps of 50 ms would be fed'],
    ['millrace dashboard --log logs/', 'all ranks that write logs there, on any node'],
  ],
  async run({ args: [feed], values }) {
    const { attach, ring, port, host, price } = values
    checkUsage(feed, values)
    const [{ Dashboard }, { OwnRun }, { giveWay }] = await Promise.all([
      import('../../../observe/dashboard/dashboard.js'),
      import('../../../observe/dashboard/run/own-run.js'),
      import('../../../core/system/process/thread.js'),
    ])
    const own = feed === undefined ? undefined : await OwnRun.start(cli, feed, runOptions(values))
    // After the run was started, which would be as nice as this one is.
    giveWay(NICE)
    let shown: Dashboard
    try {
      shown = await Dashboard.start({
        attach: own?.pid ?? attach,
        ring,
        price,
        host,
        port,
        version: version(),
        log: values.log,
        // The trainer of our own sleeps: that is what its step takes.
        ...(own && { idealMs: values['step-ms'] }),
      })
    } catch (error) {
      own?.stop()
      throw error
    }
    onInterrupt(() => {
      shown.close()
      own?.stop()
    })
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${shown.port}/?token=${shown.token}`
    if (host !== LOCAL && host !== 'localhost' && host !== '::1')
      notice(
        `the page can be reached from other machines, without encryption: a person who has its address sees all of it. ` +
          `Safer: leave --host out, and forward the port by ssh`,
      )
    const started = { url, port: shown.port, token: shown.token, pid: process.pid, ...shown.runs }
    const { json } = values as { json?: boolean }
    say(json ? asJson(started) : words(started, shown.port), process.stdout)
    if (values.open) await openBrowser(url)
    return forever(own)
  },
})

/** Less than makers have: what is left of the cores is enough to look once a second. */
const NICE = 15

const cli = fileURLToPath(new URL('../main.js', import.meta.url))

interface Given {
  attach?: number
  ring?: string
  port?: number
  host: string
  'step-ms': number
  workers?: string
  depth?: number
  'allow-code': boolean
  plugin: string[]
}

function checkUsage(feed: string | undefined, { attach, ring, workers, depth, ...more }: Given): void {
  if (feed !== undefined && attach !== undefined)
    throw new UsageError('millrace dashboard takes a FEED or --attach PID, not both')
  const { port = 0, host } = more
  if (port > MOST_PORT) throw new UsageError(`--port wants a number from 0 to ${MOST_PORT}, not ${port}`)
  if (host.trim() === '') throw new UsageError('--host wants a name or an address of this machine')
  if (attach === undefined && ring !== undefined) throw new UsageError('--ring is for --attach PID')
  optionsOf('dashboard', { workers, depth })
  if (feed === undefined && ((workers ?? depth) !== undefined || more['step-ms'] > 0))
    throw new UsageError('--step-ms, --workers and --depth are for a FEED: a trainer that runs has its own')
}

function runOptions({ workers, depth, plugin, ...more }: Given): string[] {
  const options = ['--step-ms', String(more['step-ms'])]
  if (workers !== undefined) options.push('--workers', workers)
  if (depth !== undefined) options.push('--depth', String(depth))
  if (more['allow-code']) options.push('--allow-code')
  return [...options, ...plugin.flatMap(url => ['--plugin', url])]
}

type Started = Dashboard['runs'] & { url: string }

function words({ url, run, ended, others }: Started, port: number): string {
  const shown =
    run !== null
      ? `It shows "${printable(run.feed)}", process ${run.trainer}${ended === null ? '.' : `, which has ended: ${ended}.`}`
      : others.length > 0
        ? `${others.length} runs are here: choose one on the page.`
        : 'No run is here yet: it shows the first one that begins.'
  return [
    `The dashboard is at ${url}`,
    shown,
    `From another machine: ssh -L ${port}:127.0.0.1:${port} ${userInfo().username}@${hostname()}, then open the address there.`,
    'Ctrl-C ends it.',
  ].join('\n')
}

/** How long a browser may take to start (ms). */
const STARTING = 20_000

/** By a file that only this user can read: all users can see the words of a command, and the token is in the address. */
async function openBrowser(url: string): Promise<void> {
  const [{ spawn }, { mkdtempSync, rmSync, writeFileSync }, { tmpdir }, { join }] = await Promise.all([
    import('node:child_process'),
    import('node:fs'),
    import('node:os'),
    import('node:path'),
  ])
  const folder = mkdtempSync(join(tmpdir(), 'millrace-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  onInterrupt(remove)
  const file = join(folder, 'dashboard.html')
  writeFileSync(file, `<!doctype html><meta http-equiv="refresh" content="0;url=${url}">`, { mode: 0o600 })
  const child = spawn('xdg-open', [file], { stdio: 'ignore', detached: true })
  child.on('error', () => notice('there is no xdg-open here: open the address yourself'))
  child.unref()
  setTimeout(remove, STARTING).unref()
}

/** Until Ctrl-C. A notice says that a run of our own has failed: the page stays, with what was seen. */
function forever(own: OwnRun | undefined): Promise<Outcome> {
  return new Promise(() => {
    if (own === undefined) return
    const timer = setInterval(() => {
      if (own.ended === undefined) return
      clearInterval(timer)
      notice(`the run has ended: ${own.ended}`)
    }, 1000)
  })
}
