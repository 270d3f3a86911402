/** The page of the dashboard: begins here. A saved file shows what it holds; else the server's stream is opened. */
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { App } from './app.js'
import { connect } from './state/connect.js'
import { embedded } from './state/saved.js'
import { EMPTY, ofSnapshot, type State } from './state/store.js'
import { startTheme } from './state/theme.js'

const snapshot = embedded()

function Page() {
  const [state, setState] = useState<State>(snapshot === null ? EMPTY : ofSnapshot(snapshot))
  useEffect(() => {
    if (snapshot === null) connect(setState)
  }, [])
  return <App state={state} />
}

startTheme()
const root = document.getElementById('page')
if (root !== null) render(<Page />, root)
