/**
 * The stream of events. When it breaks, that is known at once, and it is opened again until it holds. A page that is hidden
 * has none: browsers allow six connections to a server, and pages in the background would take them all.
 */
import type { Events } from '../../dashboard/view.js'
import { address } from './address.js'
import { type State, withFirstHello, withHello, withNow } from './store.js'

/** Until the stream is opened again (ms): soon enough for a server that restarts, seldom enough for one that is gone. */
const AGAIN = 1500
/** The server says something every 2 s. A stream that is silent for so long (ms) is broken, though it does not say so: ssh does that. */
const SILENT = 7000

/** Keeps a stream open for good. */
export function connect(change: (by: (state: State) => State) => void): void {
  let source: EventSource | undefined
  let last = Date.now()
  const open = () => {
    if (source !== undefined || document.hidden) return
    last = Date.now()
    let greeted = false
    const opened = new EventSource(address('api/events'))
    source = opened
    const on = <K extends keyof Events>(name: K, by: (state: State, data: Events[K]) => State) => {
      opened.addEventListener(name, event => {
        last = Date.now()
        const data = JSON.parse(event.data) as Events[K]
        change(state => by({ ...state, link: 'live', heard: last }, data))
      })
    }
    on('hello', (state, hello) => {
      const first = !greeted
      greeted = true
      return first ? withFirstHello(state, hello) : withHello(state, hello)
    })
    on('history', (state, history) => ({ ...state, history }))
    on('recent', (state, recent) => ({ ...state, recent }))
    on('now', withNow)
    on('ended', (state, ended) => ({ ...state, ended }))
    on('beat', state => state)
    opened.addEventListener('error', lost)
  }
  const close = () => {
    source?.close()
    source = undefined
  }
  const lost = () => {
    if (source === undefined) return
    close()
    change(state => ({ ...state, link: 'lost' }))
    setTimeout(open, AGAIN)
  }
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) return open()
    close()
    change(state => ({ ...state, link: 'paused' }))
  })
  setInterval(() => {
    if (Date.now() - last > SILENT) lost()
  }, 1000)
  open()
}
