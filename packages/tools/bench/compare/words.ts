/** The comparison in one sentence. */
import { PARTS } from '../../../observe/account/parts.js'
import { count, ms } from '../../../observe/verdict/units.js'
import { areTooFew, changeText, tooFew } from '../change-words.js'
import { type Kind, mainCause, type Pair, type PartChange } from './blocks.js'

export function conclusionOf(kind: Kind, pairs: readonly Pair[]): string {
  const [{ name, comparison, a, b }, ...others] = pairs
  const { rate, step } = comparison
  const about = kind === 'bench' ? ` with ${name}` : ''
  const rates = `${figure(rate.a)} and ${figure(rate.b)} ${rate.of}/s`
  const blocks = Math.min(comparison.blocks.a, comparison.blocks.b)
  if (areTooFew(blocks)) {
    const few =
      kind === 'bench' ? tooFew(blocks) : `${blocks} stretches of steps can't tell: longer runs would`
    return `${capital(few)}: ${rates}${about}, ${changeText(rate.ratio)}.${othersOf(others)}`
  }
  if (!rate.significant)
    return `No difference beyond noise${about}: ${rates}, ${changeText(rate.ratio)}.${othersOf(others)}`
  const faster = rate.ratio.value > 1
  const cause = mainCause(comparison)
  const why = cause === undefined ? '' : `; ${causeText(cause, step)}`
  const verdict =
    a.verdict !== b.verdict && a.verdict !== null && b.verdict !== null
      ? ` The verdict was ${a.verdict}, and is ${b.verdict}.`
      : ''
  return `B is ${faster ? 'faster' : 'slower'}${about}: ${changeText(rate.ratio)}, ${rates}${why}.${verdict}${othersOf(others)}`
}

function causeText({ part, a, b }: PartChange, step: PartChange): string {
  return `a step takes ${ms(step.b)} in place of ${ms(step.a)}, most of it by ${part === 'step' ? 'a step' : PARTS[part].help}, ${ms(a)} before and ${ms(b)} now`
}

function capital(text: string): string {
  return text[0].toUpperCase() + text.slice(1)
}

function othersOf(others: readonly Pair[]): string {
  const reported = others.filter(({ comparison }) => comparison.rate.significant)
  if (reported.length === 0) return ''
  const [up, down] = [1, -1].map(sign =>
    reported
      .filter(({ comparison }) => Math.sign(comparison.rate.ratio.value - 1) === sign)
      .map(({ name }) => name),
  )
  const list = [
    ...(up.length > 0 ? [`faster: ${up.join(', ')}`] : []),
    ...(down.length > 0 ? [`slower: ${down.join(', ')}`] : []),
  ]
  return ` Also ${list.join('; ')}.`
}

function figure(value: number): string {
  return value < 100 ? String(Number(value.toPrecision(3))) : count(value)
}
