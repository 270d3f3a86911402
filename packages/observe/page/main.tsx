/** The page of the dashboard: begins here. */
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { App } from './app.js'
import { connect } from './state/connect.js'
import { EMPTY, type State } from './state/store.js'
import { startTheme } from './state/theme.js'

function Page() {
  const [state, setState] = useState<State>(EMPTY)
  useEffect(() => connect(setState), [])
  return <App state={state} />
}

startTheme()
const root = document.getElementById('page')
if (root !== null) render(<Page />, root)
