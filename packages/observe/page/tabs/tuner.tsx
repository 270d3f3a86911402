/** All that the tuner did in this run, with its reasons, the newest first. */
import type { TunerDecision } from '../../live/record.js'
import type { State } from '../state/store.js'
import { clock, share } from '../words/format.js'
import { gainWords, measuredWords } from '../words/gain.js'
import { eventWords, MARKS, settingOf, stateOf } from '../words/tuner.js'

export function Tuner({ state: { now } }: { state: State }) {
  const tuner = now?.tuner ?? null
  if (tuner === null)
    return (
      <p class="quiet-text">
        No tuner is at work: workers were given as a number. With <code>workers="auto"</code> the engine tunes
        itself.
      </p>
    )
  return (
    <>
      <p class="lead">{stateOf(tuner)}</p>
      {tuner.decisions.length === 0 ? (
        <p class="quiet-text">It decided nothing yet.</p>
      ) : (
        <table class="log">
          <thead>
            <tr>
              <th scope="col">at</th>
              <th scope="col">what</th>
              <th scope="col">why</th>
              <th scope="col" class="number">
                lost before
              </th>
              <th scope="col" class="number">
                expected
              </th>
              <th scope="col" class="number">
                measured
              </th>
            </tr>
          </thead>
          <tbody>
            {[...tuner.decisions].reverse().map(decision => (
              <Row key={`${decision.at} ${decision.event} ${decision.knob}`} decision={decision} />
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}

function Row({ decision }: { decision: TunerDecision }) {
  const { time, event, reason, lost, predicted, measured } = decision
  // No more than what was lost can be gained.
  const most = lost < 1 ? lost / (1 - lost) : null
  return (
    <tr>
      <td class="time">{clock(time, true)}</td>
      <td class={`what ${event}`}>
        <span aria-hidden="true">{MARKS[event].sign}</span> {eventWords(event)}
        {decision.knob !== null && <b> {settingOf(decision)}</b>}
      </td>
      <td>{reason}</td>
      <td class="number">{share(lost)}</td>
      <td class="number">
        {predicted !== null && gainWords(predicted.gain, predicted.interval, most).replace(' at most', '')}
      </td>
      <td class="number">{measured !== null && measuredWords(measured.gain, measured.interval)}</td>
    </tr>
  )
}
