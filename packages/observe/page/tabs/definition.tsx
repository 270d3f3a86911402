/** What the feed is: its definition, and what its batches hold. */
import type { ComponentChildren } from 'preact'
import type { State } from '../state/store.js'

export function Definition({ state: { hello } }: { state: State }) {
  if (hello === null) return <p class="quiet-text">Nothing is known yet.</p>
  const { definition, fields } = hello
  return (
    <div class="two">
      <section aria-labelledby="fields-title">
        <h3 id="fields-title">A batch holds</h3>
        {fields.length === 0 ? (
          <p class="quiet-text">The engine does not tell.</p>
        ) : (
          <table>
            <thead>
              <tr>
                <th scope="col">field</th>
                <th scope="col">is</th>
                <th scope="col">of type</th>
                <th scope="col">shape</th>
              </tr>
            </thead>
            <tbody>
              {fields.map(({ name, dtype, shape, kind }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td>{kind}</td>
                  <td>{dtype}</td>
                  <td>{shape.join(' × ') || 'a number'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      <section aria-labelledby="definition-title">
        <h3 id="definition-title">Definition</h3>
        {definition === null ? (
          <p class="quiet-text">The engine does not tell.</p>
        ) : (
          <pre>{coloured(definition)}</pre>
        )}
      </section>
    </div>
  )
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d[\d.e+-]*/gi

/** JSON with keys, strings and numbers told apart. */
function coloured(value: unknown): ComponentChildren[] {
  const text = JSON.stringify(value, null, 2)
  const found: ComponentChildren[] = []
  let end = 0
  for (const match of text.matchAll(TOKEN)) {
    found.push(text.slice(end, match.index))
    const [all, quoted, colon] = match
    const kind = quoted === undefined ? 'number' : colon === undefined ? 'string' : 'name'
    const written = colon === undefined ? all : quoted
    found.push(<span class={kind}>{written}</span>)
    end = match.index + written.length
  }
  found.push(text.slice(end))
  return found
}
