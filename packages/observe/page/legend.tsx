/** Colours and what they mean. A look is a colour of the style sheet: `running`, `paint-step`. */
import type { ComponentChildren } from 'preact'

interface Given {
  label: string
  of: readonly (readonly [look: string, words: ComponentChildren])[]
}

export function Legend({ label, of }: Given) {
  return (
    <ul class="legend" aria-label={label}>
      {of.map(([look, words]) => (
        <li key={look}>
          <i class={`swatch ${look}`} style={fill(look)} /> {words}
        </li>
      ))}
    </ul>
  )
}

/** The colour of a look; patterns over it are of the style sheet. */
export function fill(look: string): { backgroundColor: string } {
  return { backgroundColor: `var(--${look})` }
}
