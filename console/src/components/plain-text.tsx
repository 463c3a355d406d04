/** A text by a user: never markup; addresses that begin with http become links. */
import { markHidden, showHidden } from '../model/names.ts'

const address = /(https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]])/

export function PlainText({ text }: { text: string }) {
  const parts = text.slice(0, 20_000).split(address)
  return (
    <bdi class="plain-text">
      {parts.map((part, index) =>
        index % 2 === 1 ? (
          <a key={index} href={part} target="_blank" rel="noopener noreferrer">
            {showHidden(part)}
          </a>
        ) : (
          showHiddenLines(part)
        ),
      )}
    </bdi>
  )
}

/** Line breaks stay. */
function showHiddenLines(text: string): string {
  return text.split(/\r?\n/).map(markHidden).join('\n')
}
