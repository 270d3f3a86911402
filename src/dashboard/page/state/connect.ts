/** The stream of events. When it breaks, that is known at once, and it is opened again until it holds. */
import type { Events } from '../../view.js'
import { address } from './address.js'
import { type State, withAlert, withHello, withNow } from './store.js'

/** Until the stream is opened again (ms): soon enough for a server that restarts, seldom enough for one that is gone. */
const AGAIN = 1500
/** A stream that says nothing for this long (ms) is broken, though it does not say so: ssh does that. */
const SILENT = 6000

/** Keeps a stream open for good. */
export function connect(change: (by: (state: State) => State) => void): void {
  let source: EventSource | undefined
  let last = Date.now()
  const open = () => {
    last = Date.now()
    source = new EventSource(address('api/events'))
    const on = <K extends keyof Events>(name: K, by: (state: State, data: Events[K]) => State) => {
      source?.addEventListener(name, event => {
        last = Date.now()
        const data = JSON.parse(event.data) as Events[K]
        change(state => by({ ...state, link: 'live', heard: last }, data))
      })
    }
    on('hello', withHello)
    on('history', (state, history) => ({ ...state, history }))
    on('now', withNow)
    on('alert', withAlert)
    on('ended', (state, ended) => ({ ...state, ended }))
    on('beat', state => state)
    source.addEventListener('error', lost)
  }
  const lost = () => {
    if (source === undefined) return
    source.close()
    source = undefined
    change(state => ({ ...state, link: 'lost' }))
    setTimeout(open, AGAIN)
  }
  setInterval(() => {
    if (Date.now() - last > SILENT) lost()
  }, 1000)
  open()
}
