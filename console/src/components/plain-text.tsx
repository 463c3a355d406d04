/** A text by a user or a service: never markup; addresses and the names of known things become links. */
import { to } from '../address.ts'
import { markHidden, showHidden } from '../model/names.ts'

/** An address, or the id of an execution. */
const linked = 'https?:\\/\\/[^\\s<>"\']+[^\\s<>"\'.,;:!?)\\]]|\\b01[0-9A-HJKMNP-TV-Z]{24}\\b'

/** @param links Where things lead that the text may name */
export function PlainText({ text, links = new Map() }: { text: string; links?: ReadonlyMap<string, string> }) {
  // Longer names first: one may begin with another.
  const names = [...links.keys()].toSorted((a, b) => b.length - a.length)
  const known = names.map((name) => `(?<![\\w-])${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}(?![\\w-])`)
  const parts = text.slice(0, 20_000).split(new RegExp(`(${[...known, linked].join('|')})`))
  return (
    <bdi class="plain-text">
      {parts.map((part, index) => {
        // Line breaks stay.
        if (index % 2 === 0) return part.split(/\r?\n/).map(markHidden).join('\n')
        const isAddress = part.startsWith('http')
        const outside = isAddress && { target: '_blank', rel: 'noopener noreferrer' }
        return (
          <a key={index} href={links.get(part) ?? (isAddress ? part : to.execution(part))} {...outside}>
            {showHidden(part)}
          </a>
        )
      })}
    </bdi>
  )
}
