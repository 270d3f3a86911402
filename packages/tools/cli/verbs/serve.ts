/** `millrace serve`: feeds other processes, such as a PyTorch or JAX trainer, through shared memory. */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { version } from '../../../core/basics/version.js'
import { command } from '../command.js'
import { flagsOf } from '../option-flags.js'
import { notice } from '../progress.js'

/** How long (ms) makers may take to leave when the engine ends. */
const LEAVING = 500

const FLAGS = flagsOf('serve')

export const serve = command({
  name: 'serve',
  summary: 'feeds other processes through shared memory',
  about:
    'Listens at a Unix socket and feeds every client that connects: the Python package, or any program that speaks ' +
    'docs/protocol.md. Clients may bring their own feeds; FEED is for those that bring none. Ends with its last client.',
  args: [{ name: 'FEED', about: 'the feed of clients that bring none', optional: true }],
  options: {
    socket: { type: 'text', value: 'PATH', about: 'where to listen (needed)' },
    starter: { type: 'count', value: 'PID', about: 'end when this process ends' },
    ...FLAGS,
    'allow-code': {
      ...FLAGS['allow-code'],
      about: 'FEED may run the code that it names, and so may the feeds of clients',
    },
    stay: { type: 'flag', about: 'go on when there is no client, until Ctrl-C' },
  },
  examples: [
    [
      'millrace serve cats.json --socket /run/user/1000/cats.sock --stay',
      'then, in Python: millrace.Feed(socket=…)',
    ],
  ],
  async run({ args: [feed], values }) {
    const [
      { serve },
      { exitNow },
      { loadFeed, refuseModule },
      { UsageError },
      { onInterrupt },
      { rmSync },
      { readAffinity },
    ] = await Promise.all([
      import('../../../core/deliver/serve/server.js'),
      import('../../../core/system/process/exit.js'),
      import('../feed-argument.js'),
      import('../command.js'),
      import('../interrupt.js'),
      import('node:fs'),
      import('../../../core/engine/bind/policy.js'),
    ])
    if (values.socket === undefined) throw new UsageError('serve needs --socket PATH')
    const socket = resolve(values.socket)
    const mayRun = values['allow-code']
    const own = values.plugin
    const standard = feed === undefined ? undefined : await loadFeed(feed, mayRun, own)
    onInterrupt(() => rmSync(socket, { force: true }))
    const made = firstMissing(dirname(socket))
    await serve({
      socket,
      starter: values.starter,
      stay: values.stay,
      version: version(),
      // The program that starts an engine keeps its stderr for the engine's last words.
      listens: () => {
        if (values.starter !== undefined) return
        if (made !== undefined) notice(`made the folder ${made}, which no other user can enter`)
        notice(
          `listening at ${socket}${values.stay ? '' : '; ends with its last client, or where none comes'}`,
        )
      },
      allowCode: mayRun,
      plugins: own,
      affinity: values.affinity === undefined ? undefined : readAffinity(values.affinity),
      find: async (request, plugins) => {
        const allowCode = mayRun && (request.allowCode ?? false)
        if (request.feed !== undefined)
          return { json: request.feed, root: request.root ?? process.cwd(), allowCode }
        if (request.feedPath !== undefined) {
          if (allowCode !== true) refuseModule(request.feedPath)
          return loadFeed(request.feedPath, allowCode, plugins)
        }
        if (standard !== undefined) return standard
        throw new UsageError('the client brings no feed, and serve was given none')
      },
    })
    // Makers that take long to leave don't keep an engine that has no clients.
    setTimeout(() => exitNow(0), LEAVING).unref()
    return { json: { socket }, text: '' }
  },
})

/** The topmost folder of a path that is not there yet. */
function firstMissing(folder: string): string | undefined {
  if (existsSync(folder)) return undefined
  return firstMissing(dirname(folder)) ?? folder
}
