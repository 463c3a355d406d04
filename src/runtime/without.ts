/** Switches single parts of this folder off, to measure what each one brings: `npm run bench -- path --without NAME`. */

/** What costs or saves processor time or memory. The other reaches of the folder are for answers and attacks, and cannot be switched off. */
export const switches = [
  'undici-timers',
  'prepared-head',
  'log-line',
  'young-allocation',
  'shrinking',
  'ticks',
  'collection',
  'malloc-trim',
  'program-pages',
  'start-options',
] as const

type Switch = (typeof switches)[number]

const off = new Set((process.env['RUNTIME_WITHOUT'] ?? '').split(','))

/** To be asked once, when a module is loaded. */
export function isOn(name: Switch): boolean {
  return !off.has(name)
}
