/** Properties that builds print to their log: `SPINNAKER_PROPERTY_NAME=value` and `SPINNAKER_CONFIG_JSON={…}`. */
import { stripVTControlCharacters } from 'node:util'
import { parseJson } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'

const propertyMarker = 'SPINNAKER_PROPERTY_'
const configMarker = 'SPINNAKER_CONFIG_JSON='
/** Servers put the time before lines, GitLab also the stream. */
const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z (?:\d\d[OE][ +])?/

/** Names are in lower case; later lines win; objects that are no JSON are left out. */
export function readLogProperties(log: string): JsonObject {
  const properties: JsonObject = {}
  for (const raw of log.split('\n')) {
    if (!raw.includes(propertyMarker) && !raw.includes(configMarker)) continue
    const line = stripVTControlCharacters(raw).replace(time, '').trim()
    if (line.startsWith(configMarker)) Object.assign(properties, parseConfig(line.slice(configMarker.length)))
    else Object.assign(properties, parseProperty(line))
  }
  return properties
}

function parseProperty(line: string): JsonObject {
  const from = line.indexOf(propertyMarker) + propertyMarker.length
  const equals = line.indexOf('=', from)
  if (from < propertyMarker.length || equals < 0) return {}
  const key = line.slice(from, equals).trim().toLowerCase()
  const value = line.slice(equals + 1).trim()
  return key === '' || key === '__proto__' || value === '' ? {} : { [key]: value }
}

function parseConfig(text: string): JsonObject {
  try {
    const config = parseJson(text)
    return isObject(config) ? config : {}
  } catch {
    return {}
  }
}
