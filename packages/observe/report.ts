/**
 * A report: the page of the dashboard as a file, with finished runs in it. It holds everything it needs, so it opens from a
 * disk, an e-mail or a CI artefact, without a network.
 */
import { existsSync, readFileSync } from 'node:fs'
import { MillraceError } from '../core/basics/errors.js'
import { writeWhole } from '../core/system/files/draft.js'
import type { ReportData } from './dashboard/view.js'

/** Where the build puts the page. */
const PAGE_FILE = new URL('./page/index.html', import.meta.url)

/** Writes the report to `path`, whole or not at all. */
export function writeReport(path: string, data: ReportData): void {
  writeWhole(path, renderReport(data))
}

/** The page with the data in it. */
export function renderReport(data: ReportData, file = PAGE_FILE): string {
  if (!existsSync(file)) throw new MillraceError('the page of reports is missing: npm run build makes it')
  return readFileSync(file, 'utf8')
    .replace(/<title>.*?<\/title>/, () => `<title>${escapeText(data.title)}</title>`)
    .replace(
      '<div id="page">',
      place => `<script type="application/json" id="data">${embed(data)}</script>\n${place}`,
    )
}

/** JSON that may stand in a <script>: no `<` that could end it. Times are rounded to a tenth of a microsecond. */
function embed(data: ReportData): string {
  const json = JSON.stringify(data, (_, value) =>
    typeof value === 'number' && !Number.isInteger(value) ? Math.round(value * 1e4) / 1e4 : value,
  )
  return json.replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
