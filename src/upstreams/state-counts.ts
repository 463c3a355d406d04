/** Counts of changes in the embedded services, which their thread and the gateway share in memory. */

const places = { definitions: 0, executions: 1, infrastructure: 2, permissions: 3 } as const

/** Parts of what embedded services store: definitions and everything else, executions and tasks, infrastructure. */
export type StatePart = Exclude<keyof typeof places, 'permissions'>

/** Each number grows with every change, so that equal numbers mean equal state. */
export type StateCounts = readonly [definitions: number, executions: number, infrastructure: number]

export function createStateCounts(): SharedArrayBuffer {
  return new SharedArrayBuffer(Object.keys(places).length * Int32Array.BYTES_PER_ELEMENT)
}

export function countStateChange(memory: SharedArrayBuffer, part: keyof typeof places): void {
  Atomics.add(new Int32Array(memory), places[part], 1)
}

export function readStateCount(memory: SharedArrayBuffer, part: keyof typeof places): number {
  return Atomics.load(new Int32Array(memory), places[part])
}

export function readStateCounts(memory: SharedArrayBuffer): StateCounts {
  const counts = new Int32Array(memory)
  return [Atomics.load(counts, 0), Atomics.load(counts, 1), Atomics.load(counts, 2)]
}

export function countOf(counts: StateCounts, part: StatePart): number {
  return counts[places[part]]
}

export function statePartOf(service: string): StatePart {
  if (service === 'orca') return 'executions'
  return service === 'clouddriver' ? 'infrastructure' : 'definitions'
}
