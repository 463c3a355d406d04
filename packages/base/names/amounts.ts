/** Amounts and times in words. */

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** For example `256 MiB` or `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${units[power]}`
}

/** For example `250 ms`, `4.5 s` or `12 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 120_000) return `${Number((ms / 1000).toFixed(1))} s`
  return `${Math.round(ms / 60_000)} min`
}
