/** Ranges of ports: `20000-20999`. */

export interface PortRange {
  readonly first: number
  readonly last: number
}

/** Undefined when the text is none. A single port is a range of one. */
export function parsePortRange(text: string): PortRange | undefined {
  const match = /^\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?$/.exec(text)
  if (match === null) return undefined
  const first = Number(match[1])
  const last = Number(match[2] ?? match[1])
  return first >= 1 && last <= 65_535 && first <= last ? { first, last } : undefined
}

export function isWithin(port: number, { first, last }: PortRange): boolean {
  return port >= first && port <= last
}
