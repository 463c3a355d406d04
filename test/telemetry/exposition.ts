/** Reads the text format of Prometheus, version 0.0.4, as strictly as its own parser and linter do together. */
import assert from 'node:assert/strict'

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly samples: Sample[]
}

const sampleForm = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const labelForm = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/gy
const suffixes: Readonly<Record<string, readonly string[]>> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
}
const otherUnits =
  /_(?:ms|millis\w*|micro\w*|nano\w*|minutes|hours|kb|mb|kilobytes|megabytes|percent)(?:_|$)/

/** The families by name. Fails where a line, a name, a unit or a histogram is not as it has to be. */
export function parseExposition(text: string): Map<string, Family> {
  assert.ok(text.endsWith('\n'), 'the last line ends with a line break')
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let help: [name: string, text: string] | undefined
  let family: Family | undefined
  for (const line of text.split('\n')) {
    if (line === '') continue
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') help = [name, rest]
    else if (kind === 'TYPE') {
      assert.equal(help?.[0], name, `HELP comes before TYPE of ${name}`)
      assert.ok(rest in suffixes, `${name} has a known type`)
      assert.ok(!families.has(name), `${name} appears once`)
      family = { name, type: rest, help: help?.[1] ?? '', samples: [] }
      families.set(name, family)
    } else {
      assert.ok(!line.startsWith('#'), line)
      const sample = parseSample(line)
      assert.ok(
        family !== undefined && isSampleOf(family, sample),
        `${line} belongs to the TYPE before it`,
      )
      const series = line.slice(0, line.lastIndexOf(' '))
      assert.ok(!seen.has(series), `${series} appears once`)
      seen.add(series)
      family.samples.push(sample)
    }
  }
  for (const each of families.values()) checkFamily(each)
  return families
}

function parseSample(line: string): Sample {
  const [, name = '', list = '', number = ''] =
    sampleForm.exec(line) ?? assert.fail(`a sample: ${line}`)
  const labels: Record<string, string> = {}
  let end = 0
  for (const match of list.matchAll(labelForm)) {
    const [whole, label = '', value = ''] = match
    assert.ok(!(label in labels), line)
    labels[label] = value
    end = match.index + whole.length
  }
  assert.equal(end, list.length, `labels of ${line}`)
  const value = number === '+Inf' ? Infinity : number === 'Nan' ? Number.NaN : Number(number)
  assert.ok(number === 'Nan' || !Number.isNaN(value), `the number of ${line}`)
  return { name, labels, value }
}

function isSampleOf({ name, type }: Family, sample: Sample): boolean {
  return (suffixes[type] ?? []).some((suffix) => sample.name === name + suffix)
}

function checkFamily(family: Family): void {
  const { name, type } = family
  assert.match(name, /^[a-z][a-z0-9_]*$/)
  assert.doesNotMatch(name, otherUnits, `${name} has a base unit`)
  assert.equal(
    name.endsWith('_total'),
    type === 'counter',
    `${name}, a ${type}, ends in _total exactly if it is a counter`,
  )
  assert.doesNotMatch(name, /_(?:count|sum|bucket)$/)
  if (type === 'counter') for (const { value } of family.samples) assert.ok(value >= 0, name)
  if (type === 'histogram') checkHistogram(family)
}

function checkHistogram({ name, samples }: Family): void {
  const series = Map.groupBy(samples, ({ labels: { le: _, ...rest } }) => JSON.stringify(rest))
  for (const group of series.values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`)
    const bounds = buckets.map(({ labels }) =>
      labels['le'] === '+Inf' ? Infinity : Number(labels['le']),
    )
    assert.deepEqual(
      bounds,
      bounds.toSorted((a, b) => a - b),
      name,
    )
    const counts = buckets.map(({ value }) => value)
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
      `${name} is cumulative`,
    )
    assert.equal(bounds.at(-1), Infinity, name)
    assert.equal(
      group.find((sample) => sample.name === `${name}_count`)?.value,
      counts.at(-1),
      name,
    )
    assert.ok(
      group.some((sample) => sample.name === `${name}_sum`),
      name,
    )
  }
}
