/** Time zones and offsets of `java.time`. */
import { textArgument, wholeArgument } from '../values.ts'
import { objectValue } from './calendar.ts'
import { type JavaClass, JavaObject } from './java-class.ts'

/** Where no zone is named, as in the containers of most services. */
export const defaultZone = 'UTC'

export function zoneArgument(value: unknown): string {
  return typeof value === 'string' ? checkZone(value) : objectValue(value, [zoneId, zoneOffset])
}

export function checkZone(name: string): string {
  const zone =
    name === 'Z' || name === 'GMT' ? 'UTC' : /^[+-]\d{1,2}$/.test(name) ? `${name.replace(/^(.)(\d)$/, '$10$2')}:00` : name
  return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone).timeZoneId
}

const zoneMethods: JavaClass<string>['methods'] = { getId: (zone) => zone }
export const zoneId: JavaClass<string> = {
  name: 'java.time.ZoneId',
  statics: {
    of: ([name]) => new JavaObject(zoneId, checkZone(textArgument(name))),
    systemDefault: () => new JavaObject(zoneId, defaultZone),
  },
  methods: zoneMethods,
  toText: (zone) => zone,
}
export const zoneOffset: JavaClass<string> = {
  name: 'java.time.ZoneOffset',
  constants: {
    get UTC() {
      return new JavaObject(zoneOffset, '+00:00')
    },
  },
  statics: {
    of: ([name]) => new JavaObject(zoneOffset, checkZone(textArgument(name))),
    ofHours: ([hours]) => new JavaObject(zoneOffset, checkZone(offsetText(wholeArgument(hours)))),
  },
  methods: zoneMethods,
  toText: (zone) => (zone === '+00:00' ? 'Z' : zone),
}
const offsetText = (hours: number) => `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`
