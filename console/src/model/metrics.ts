/** Reads the text format of Prometheus. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

/** Lines that are none cost themselves only. */
export function readMetrics(text: string): readonly Sample[] {
  return text.split('\n').flatMap((row): readonly Sample[] => {
    const found = row.startsWith('#') ? null : line.exec(row)
    const value = Number(found?.[3])
    if (found === null || !Number.isFinite(value)) return []
    const labels = Object.fromEntries([...(found[2] ?? '').matchAll(label)].map(([, key, text]) => [key, text]))
    return [{ name: found[1] ?? '', labels, value }]
  })
}

/** Undefined where there is no sample. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  fits: (labels: Sample['labels']) => boolean = () => true,
): number | undefined {
  const values = samples.filter((sample) => sample.name === name && fits(sample.labels)).map(({ value }) => value)
  return values.length === 0 ? undefined : values.reduce((total, value) => total + value, 0)
}
