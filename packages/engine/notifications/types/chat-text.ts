/** Texts of chat messages: a title, and what follows it. */
import type { Notice } from '../notification-type.ts'

/** The text without the subject, which is the title of the message. */
export function detailsOf({ subject, text }: Notice): string {
  return text.startsWith(subject) ? text.slice(subject.length).trim() : text
}

/** The three characters with a meaning in messages of Slack and Google Chat. */
export function escapeChat(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
