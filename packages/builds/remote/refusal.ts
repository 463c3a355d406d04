/** Refused requests for builds, in the words of the server. */
import { formatJson, parseIfJson } from '@fairlead/base/json/json.ts'
import { fieldOf } from '@fairlead/base/json/values.ts'
import type { OutsideAnswer } from '@fairlead/base/outside/call-outside.ts'

const longest = 500

/** `: reason`, as GitHub, GitLab and Gitea give it; an empty text where they give none. */
export function formatReason({ text }: Pick<OutsideAnswer, 'text'>): string {
  const body = parseIfJson(text)
  const reason = fieldOf(body, 'message') ?? fieldOf(body, 'error') ?? ''
  const shown = typeof reason === 'string' ? reason : formatJson(reason)
  return shown === '' ? '' : `: ${shown.slice(0, longest)}`
}
