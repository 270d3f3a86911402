/** What would be, if: sliders on the model of this run, and the three ways to feed a trainer with its own numbers. */
import { useMemo, useState } from 'preact/hooks'
import type { Change, Remedy } from '../../evidence.js'
import type { Fit } from '../../model/fit.js'
import { predict } from '../../model/predict.js'
import { count, ms, percent, rate } from '../../verdict/units.js'
import { spanOf, type Way, waysOf } from '../draw/ways.js'
import { Legend } from '../legend.js'
import type { State } from '../state/store.js'
import { gainWords } from '../words/gain.js'
import { asAdvised, type Knob, knobsOf, limitWords, measuredRate, ratesOf } from '../words/what-if.js'

export function WhatIf({ state }: { state: State }) {
  const worst = state.now?.worst ?? null
  const fit = (worst?.evidence.fit ?? null) as Fit | null
  const [set, setSet] = useState<Record<string, number>>({})
  // The model as it was when a slider was moved first: numbers that move under one's hand can't be compared.
  const [kept, keep] = useState<Fit | null>(null)
  const [advised, setAdvised] = useState<readonly Remedy[]>([])
  const used = kept ?? fit
  if (used === null)
    return <p class="quiet-text">The model of this run is there after about a hundred steps.</p>
  const knobs = knobsOf(used)
  const rank = (state.hello?.run?.world ?? 1) > 1 ? (worst?.rank ?? null) : null
  const change: Change = Object.assign(
    {},
    ...knobs.map(({ name, change }) => (name in set ? change(set[name]) : {})),
  )
  const wish = knobs
    .filter(({ name }) => name in set)
    .map(({ name, wish }) => wish(set[name]))
    .join(' and ')
  const turn = (name: string, value: number) => {
    if (kept === null) {
      keep(fit)
      setAdvised(worst?.diagnosis.remedies ?? [])
    }
    setSet({ ...set, [name]: value })
  }
  const reset = () => {
    setSet({})
    keep(null)
  }
  return (
    <div class="what-if">
      <section aria-label="Sliders">
        <div class="sliders">
          {rank !== null && <p class="quiet-text">Of rank {rank}, which loses most.</p>}
          {knobs.map(knob => (
            <Slider
              key={knob.name}
              knob={knob}
              value={set[knob.name] ?? knob.value}
              changed={knob.name in set}
              onTurn={value => turn(knob.name, value)}
            />
          ))}
          <button type="button" onClick={reset} disabled={Object.keys(set).length === 0}>
            As it is
          </button>
        </div>
      </section>
      <Answer
        fit={used}
        change={change}
        wish={wish}
        rank={rank}
        remedies={kept === null ? (worst?.diagnosis.remedies ?? []) : advised}
        certain={worst?.accounting.idealFrom !== 'upper'}
      />
      <Ways fit={used} change={change} />
    </div>
  )
}

function Slider({
  knob,
  value,
  changed,
  onTurn,
}: {
  knob: Knob
  value: number
  changed: boolean
  onTurn: (value: number) => void
}) {
  const id = `knob-${knob.name.replaceAll(' ', '-')}`
  return (
    <div class={changed ? 'slider changed' : 'slider'}>
      <label for={id}>{knob.name}</label>
      <output for={id}>
        {changed ? knob.told(value) : knob.now}
        {changed && <small> now {knob.now}</small>}
      </output>
      <input
        id={id}
        type="range"
        min={knob.least}
        max={knob.most}
        step={knob.name === 'cores for workers' ? 0.5 : 1}
        value={value}
        aria-valuetext={changed ? knob.told(value) : knob.now}
        onInput={event => onTurn(Number(event.currentTarget.value))}
      />
    </div>
  )
}

interface Asked {
  fit: Fit
  change: Change
  /** What would be there: `12 workers and 8 batches ahead`. Empty: all is as it is. */
  wish: string
}

interface Answered extends Asked {
  /** The one that is asked about, where there are several. */
  rank: number | null
  remedies: readonly Remedy[]
  /** The shortest possible step is known. */
  certain: boolean
}

function Answer({ fit, change, wish, rank, remedies, certain }: Answered) {
  const now = predict(fit, {})
  const then = asAdvised(predict(fit, change), change, remedies)
  const { least, most, possible } = ratesOf(fit, change, then, certain)
  const ceiling = possible === null ? null : possible / measuredRate(fit) - 1
  return (
    <section class="answer" aria-label="What the model says" role="status">
      <p>
        {wish === '' ? (
          <b>As it is now</b>
        ) : (
          <>
            <b>If</b> there were {wish}, <b>then</b>
          </>
        )}
      </p>
      <p class="big">
        {percent(then.lost)} <small>lost{rank !== null && `, rank ${rank}`}</small>
      </p>
      <p>
        <b>{rate(then.samplesPerSecond)}</b>
        <br />
        <span class="quiet-text">
          95 %: {count(least)} to {count(most)}
          {possible !== null && most >= possible && ', the most your trainer can take'}
        </span>
      </p>
      <p>
        {wish === ''
          ? 'by the model of this run'
          : `${gainWords(then.gain, then.interval, ceiling)} against now (${percent(now.lost)} lost)`}
      </p>
      <p class="quiet-text">{limitWords(then, wish !== '')}</p>
    </section>
  )
}

function Ways({ fit, change }: { fit: Fit; change: Change }) {
  const ways = useMemo(() => waysOf(fit, change), [fit, JSON.stringify(change)])
  const span = spanOf(fit, change)
  return (
    <section class="ways" aria-label="If it were fed in another way">
      <h3>
        If the same work were fed in another way, then … <small>the same {ms(span)} of each</small>
      </h3>
      {ways.map(way => (
        <WayPicture key={way.name} way={way} span={span} />
      ))}
      <Legend
        label="Colours"
        of={[
          ['ideal', 'trains'],
          ['paint-idle', 'waits'],
          ['running', 'makes a batch'],
        ]}
      />
      <p class="quiet-text">Light and dark: one batch after the other.</p>
    </section>
  )
}

const TRAINER = 16
const MAKER = 6

function WayPicture({ way, span }: { way: Way; span: number }) {
  const height = TRAINER + (way.lanes - 1) * (MAKER + 2) + 2
  return (
    <div class="way">
      <p>
        <span>
          <b>{way.name}</b>: {way.what}
        </span>
        <span class="number">
          {percent(way.lost)} lost, {rate(way.samplesPerSecond)}
        </span>
      </p>
      <svg
        viewBox={`0 0 1000 ${height}`}
        height={height}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${way.name}: ${way.what}; ${percent(way.lost)} lost`}
      >
        {way.pieces.map(({ lane, kind, from, to, batch }) => (
          <rect
            key={`${lane} ${kind} ${batch} ${from}`}
            class={`${kind} ${batch % 2 === 0 ? 'even' : 'odd'}`}
            x={(1000 * from) / span}
            y={lane === 0 ? 0 : TRAINER + 2 + (lane - 1) * (MAKER + 2)}
            width={Math.max(0.5, (1000 * (to - from)) / span - 1)}
            height={lane === 0 ? TRAINER : MAKER}
          />
        ))}
      </svg>
    </div>
  )
}
