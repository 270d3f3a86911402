// The form of what is written: names, kinds and keys, without values that differ from run to run.

/** The keys of a value, at any depth, each with the kind of what it holds. Of lists, those of all elements together. */
export function formOf(value) {
  if (Array.isArray(value)) {
    const forms = new Map(value.map(element => [JSON.stringify(formOf(element)), formOf(element)]))
    return [...forms.keys()].sort().map(key => forms.get(key))
  }
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  return Object.fromEntries(Object.keys(value).map(key => [key, formOf(value[key])]))
}

/** Of a report: the form of the data that its page shows, and the names of runs and of spans. */
export function reportForm(page) {
  const { runs, ...data } = dataOf(page)
  const first = list => list.slice(0, 1)
  return {
    data: formOf(data),
    runs: runs.map(({ name, steps, workers, ...run }) => ({
      name,
      run: formOf(run),
      step: formOf(first(steps)),
      workers: workers.map(worker => ({ name: worker.name, spans: formOf(first(worker.spans)) })),
    })),
  }
}

/** The data in a report. */
export function dataOf(page) {
  return JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)[1])
}
