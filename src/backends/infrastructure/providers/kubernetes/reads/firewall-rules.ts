/** Rules of network policies: ports by number or name; peers are not shown. */
import { fieldAt, type JsonObject, numberOf, objectsOf, textOf } from '../../../../../json/values.ts'

export function inboundRulesOf(object: JsonObject): JsonObject[] {
  return rulesOf(fieldAt(object, 'spec', 'ingress'))
}

export function outboundRulesOf(object: JsonObject): JsonObject[] {
  return rulesOf(fieldAt(object, 'spec', 'egress'))
}

/** One for each port of each rule. */
function rulesOf(listed: unknown): JsonObject[] {
  return objectsOf(listed)
    .flatMap((rule) => objectsOf(rule['ports']))
    .map((port) => ({ protocol: textOf(port['protocol']) ?? 'TCP', portRanges: [toRange(port)] }))
}

function toRange({ port, endPort }: JsonObject): JsonObject {
  const startPort = typeof port === 'string' ? undefined : numberOf(port)
  if (startPort !== undefined) return { startPort, endPort: numberOf(endPort) ?? startPort }
  const name = textOf(port)
  return name === undefined ? { startPort: 0, endPort: 65_535 } : { startPortName: name, endPortName: name }
}
