/** Conversion between instants and the wall clock of a time zone. */

/** What a clock shows, as if it showed UTC: milliseconds since 1970-01-01T00:00:00 on that clock. */
export type WallTime = number

const dayMs = 86_400_000

export class ZoneClock {
  readonly #format: Intl.DateTimeFormat

  /** @throws {RangeError} when the zone is not known. */
  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'iso8601',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  }

  /** How far the clocks are ahead of UTC at an instant, in milliseconds. */
  offsetAt(instantMs: number): number {
    const parts: Record<string, number> = {}
    for (const { type, value } of this.#format.formatToParts(instantMs)) parts[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instantMs / 1000) * 1000
  }

  /** The instants at which clocks show this: one, two when clocks were set back, none when they were set forward over it. */
  instantsAt(wall: WallTime): number[] {
    const offsets = new Set([this.offsetAt(wall - dayMs), this.offsetAt(wall + dayMs)])
    const instants = [...offsets].map((offset) => ({ offset, instant: wall - offset }))
    return instants
      .filter(({ offset, instant }) => this.offsetAt(instant) === offset)
      .map(({ instant }) => instant)
      .sort((one, other) => one - other)
  }

  /** The instant at which the time would have come, had clocks not been set forward over it. */
  instantInGap(wall: WallTime): number {
    return wall - this.offsetAt(wall - dayMs)
  }

  /** The first instant after `fromMs`, up to `toMs`, at which the offset is no longer that of `fromMs`; they must differ. */
  changeBetween(fromMs: number, toMs: number): number {
    const before = this.offsetAt(fromMs)
    let [same, other] = [Math.floor(fromMs / 1000), Math.ceil(toMs / 1000)]
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2)
      if (this.offsetAt(middle * 1000) === before) same = middle
      else other = middle
    }
    return other * 1000
  }
}
