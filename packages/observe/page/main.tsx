/** The page begins here: with the data of a report in its file it shows that, else a run as it goes on. */
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ReportData } from '../dashboard/view.js'
import { App } from './app.js'
import { Report } from './report.js'
import { connect } from './state/connect.js'
import { EMPTY, type State } from './state/store.js'
import { startTheme } from './state/theme.js'

function Live() {
  const [state, setState] = useState<State>(EMPTY)
  useEffect(() => connect(setState), [])
  return <App state={state} />
}

startTheme()
const root = document.getElementById('page')
const data = document.getElementById('data')?.textContent
if (root !== null) render(data == null ? <Live /> : <Report data={JSON.parse(data) as ReportData} />, root)
