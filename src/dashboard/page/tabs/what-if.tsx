/** What would be, if: sliders on the model of this run, and the three ways to feed a trainer with its own numbers. */
import { useMemo, useState } from 'preact/hooks'
import type { Change } from '../../../observe/evidence.js'
import type { Fit } from '../../../observe/model/fit.js'
import { depthOf, predict } from '../../../observe/model/predict.js'
import { gain, ms, percent, rate, cores as someCores } from '../../../observe/verdict/units.js'
import { spanOf, type Way, waysOf } from '../draw/ways.js'
import type { State } from '../state/store.js'

interface Knob {
  name: string
  /** Where the slider stands, and where it may go. */
  value: number
  least: number
  most: number
  /** The value in words. */
  told: (value: number) => string
  change: (value: number) => Change
}

const LIMITS: Record<ReturnType<typeof predict>['bound'], string> = {
  makers: 'the workers',
  cores: 'the cores',
  bytes: 'the storage',
  trainer: 'your training step: nothing is left to gain',
}

/** Sliders of factors go by fourths of a doubling. */
const STEPS = 4
const factor = (value: number) => 2 ** (value / STEPS)

export function WhatIf({ state }: { state: State }) {
  const fit = (state.now?.worst?.evidence.fit ?? null) as Fit | null
  const [set, setSet] = useState<Record<string, number>>({})
  // The model as it was when a slider was moved first: numbers that move under one's hand can't be compared.
  const [kept, keep] = useState<Fit | null>(null)
  const used = kept ?? fit
  if (used === null)
    return <p class="quiet-text">The model of this run is there after about a hundred steps.</p>
  const knobs = knobsOf(used)
  const change: Change = Object.assign(
    {},
    ...knobs.map(({ name, change }) => (name in set ? change(set[name]) : {})),
  )
  const turn = (name: string, value: number) => {
    if (kept === null) keep(fit)
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
      <Answer fit={used} change={change} />
      <Ways fit={used} change={change} />
    </div>
  )
}

function knobsOf(fit: Fit): Knob[] {
  const most = (least: number, value: number) => Math.max(least, Math.ceil(2 * value))
  return [
    {
      name: 'workers',
      value: fit.makers,
      least: 0,
      most: most(16, fit.makers),
      told: String,
      change: workers => ({ workers }),
    },
    {
      name: 'batches ahead',
      value: depthOf(fit, {}),
      least: 1,
      most: most(16, fit.depth),
      told: String,
      change: depth => ({ depth }),
    },
    {
      name: 'cores for workers',
      value: Math.round(fit.cores.value * 2) / 2,
      least: 0.5,
      most: most(16, fit.cores.value),
      told: someCores,
      change: cores => ({ cores }),
    },
    {
      name: 'waiting for storage',
      value: 0,
      least: -4 * STEPS,
      most: 4 * STEPS,
      told: value =>
        fit.blocked.value < 1e-6 ? 'none seen' : `${ms(fit.blocked.value * factor(value))} a sample`,
      change: value => ({ blockedPerSample: factor(value) }),
    },
    {
      name: 'training step',
      value: 0,
      least: -3 * STEPS,
      most: 3 * STEPS,
      told: value => ms(fit.step.value * factor(value)),
      change: value => ({ stepMs: fit.step.value * factor(value) }),
    },
  ]
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
        {knob.told(value)}
        {changed && <small> was {knob.told(knob.value)}</small>}
      </output>
      <input
        id={id}
        type="range"
        min={knob.least}
        max={knob.most}
        step={knob.name === 'cores for workers' ? 0.5 : 1}
        value={value}
        aria-valuetext={knob.told(value)}
        onInput={event => onTurn(Number(event.currentTarget.value))}
      />
    </div>
  )
}

function Answer({ fit, change }: { fit: Fit; change: Change }) {
  const now = predict(fit, {})
  const then = predict(fit, change)
  const measured = (1000 * fit.rows) / Math.max(fit.measured.value, 1e-6)
  const [least, most] = then.interval.map(by => measured * (1 + by))
  const asked = Object.keys(change).length > 0
  return (
    <section class="answer" aria-label="What the model says" role="status">
      <p class="big">
        {percent(then.lost)} <small>lost</small>
      </p>
      <p>
        <b>{rate(then.samplesPerSecond)}</b>
        <br />
        <span class="quiet-text">
          {Math.round(least).toLocaleString('en-US')} to {Math.round(most).toLocaleString('en-US')} with 95 %
          certainty
        </span>
      </p>
      <p>
        {asked
          ? `${gain(then.gain, then.interval)} against now (${percent(now.lost)} lost)`
          : 'as it is now, by the model'}
      </p>
      <p class="quiet-text">The limit: {LIMITS[then.bound]}.</p>
    </section>
  )
}

function Ways({ fit, change }: { fit: Fit; change: Change }) {
  const ways = useMemo(() => waysOf(fit, change), [fit, JSON.stringify(change)])
  const span = spanOf(fit, change)
  return (
    <section class="ways" aria-label="Three ways to feed it">
      <h3>
        The same work, fed in three ways <small>{ms(span)} of each</small>
      </h3>
      {ways.map(way => (
        <WayPicture key={way.name} way={way} span={span} />
      ))}
      <ul class="legend">
        <li>
          <i class="swatch ideal" /> trains
        </li>
        <li>
          <i class="swatch waits" /> waits
        </li>
        <li>
          <i class="swatch running" /> makes a batch
        </li>
      </ul>
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
        <b>{way.name}</b> {way.what}
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
