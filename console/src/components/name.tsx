/** A name that a user has given: text only, in its own direction, cut in the middle. */
import { cutMiddle, showHidden } from '../model/names.ts'

interface NameProps {
  readonly text: string
  readonly max?: number | undefined
  readonly class?: string
}

export function Name({ text, max, class: style }: NameProps) {
  const shown = showHidden(text)
  const cut = cutMiddle(shown, max)
  return (
    <bdi class={style} title={cut === shown ? undefined : shown.slice(0, 1000)}>
      {cut}
    </bdi>
  )
}

export function NameLink({ href, text, max, class: style }: NameProps & { href: string | undefined }) {
  return (
    <a class={style} href={href}>
      <Name text={text} max={max} />
    </a>
  )
}
