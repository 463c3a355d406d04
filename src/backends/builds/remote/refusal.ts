/** Refused requests for builds, in the words of the server. */
import { formatJson, parseJson } from '../../../json/json.ts'
import { fieldOf } from '../../../json/values.ts'
import type { OutsideAnswer } from '../../outside/call-outside.ts'

const longest = 500

/** `: reason`, as GitHub, GitLab and Gitea give it; an empty text where they give none. */
export function formatReason({ text }: Pick<OutsideAnswer, 'text'>): string {
  try {
    const body = parseJson(text)
    const reason = fieldOf(body, 'message') ?? fieldOf(body, 'error') ?? ''
    const shown = typeof reason === 'string' ? reason : formatJson(reason)
    return shown === '' ? '' : `: ${shown.slice(0, longest)}`
  } catch {
    return ''
  }
}
