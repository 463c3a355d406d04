/** A name that a user has given: text only, in its own direction, cut in the middle. */
import { cutMiddle, showHidden } from '../model/names.ts'

export function Name({ text, max }: { text: string; max?: number }) {
  const shown = showHidden(text)
  const cut = cutMiddle(shown, max)
  return <bdi title={cut === shown ? undefined : shown.slice(0, 1000)}>{cut}</bdi>
}
