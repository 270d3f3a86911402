/** What became of `--apply`, in words. */
import { percent } from '../observe/verdict/units.js'
import type { Applied } from './apply.js'
import type { Setting } from './bench.js'

export function appliedText({ action, set, predictedGain, measuredGain, kept }: Applied): string {
  if (action !== null && measuredGain === null)
    return `Applied, and undone: ${action}\n  The trainer took no batch meanwhile, so nothing could be measured.`
  if (action === null || set === null || measuredGain === null)
    return 'Applied: nothing. No remedy above can be applied from here: follow them by hand.'
  const expected =
    predictedGain === null ? 'no gain could be predicted' : `predicted ${signed(predictedGain)}`
  const end = kept
    ? `Keep it: ${settingText(set)}.`
    : 'It does not gain, so it was undone: leave the setting as it is.'
  return `Applied: ${action}\n  ${expected}, measured ${signed(measuredGain)}. ${end}`
}

/** As options of the command line. */
function settingText({ workers, depth }: Setting): string {
  const workersText = workers === undefined ? [] : [`--workers ${workers}`]
  return [...workersText, ...(depth === undefined ? [] : [`--depth ${depth}`])].join(' ')
}

function signed(gain: number): string {
  return gain < 0 ? `−${percent(-gain)}` : `+${percent(gain)}`
}
