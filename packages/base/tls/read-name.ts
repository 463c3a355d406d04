/** Names of certificate owners and issuers, as they are encoded. */
import type { DistinguishedName } from '../names/distinguished-name.ts'
import { childAt, type Der, derTag, readChildren, readOid, readText } from './der.ts'

/** A value that is no text becomes `#` and its encoding in hexadecimal digits. @throws {DerError} */
export function readName(name: Der): DistinguishedName {
  return readChildren(name, derTag.sequence).map((part) =>
    readChildren(part, derTag.set).map((attribute) => {
      const [type, value] = [0, 1].map((index) =>
        childAt(readChildren(attribute, derTag.sequence), index),
      ) as [Der, Der]
      return { type: readOid(type), value: readText(value) ?? `#${value.bytes.toString('hex')}` }
    }),
  )
}
