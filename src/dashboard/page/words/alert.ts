/** An alert in words: since when which rule holds, and what was seen then. */
import type { Alert } from '../../view.js'
import { clock } from './format.js'

/** Its text ends with the diagnosis of the moment when it fired, which is older than the one on the page: that is left out. */
export function alertWords({ rule, since, text }: Alert): string {
  const named = rule.replace(/ \(rank \d+\)$/, '')
  const rank = /^rank \d+: /.exec(text)?.[0] ?? ''
  const rest = text.slice(rank.length)
  const [seen] = (rest.startsWith(`${named}: `) ? rest.slice(named.length + 2) : rest).split('. ')
  const when = since === null ? '' : ` since ${clock(since)}`
  return `Alert${when}: ${rank}${named}. When it began: ${seen.replace(/\.$/, '')}.`
}
