/** Copies a text and says so. */
import { useState } from 'preact/hooks'
import { IconButton } from './button.tsx'

const outcomes = {
  copied: { icon: 'check', label: 'Copied' },
  refused: { icon: 'warn', label: 'The browser refused to copy; select the text instead.' },
} as const

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [outcome, setOutcome] = useState<keyof typeof outcomes | undefined>(undefined)
  const copy = async () => {
    setOutcome((await copyText(text)) ? 'copied' : 'refused')
    setTimeout(() => setOutcome(undefined), 2000)
  }
  const shown = outcome === undefined ? ({ icon: 'copy', label } as const) : outcomes[outcome]
  return <IconButton {...shown} small onClick={() => void copy()} title={outcome === 'copied' ? label : shown.label} />
}

/** Pages without HTTPS have no clipboard of their own. @returns whether it was copied */
export async function copyText(text: string): Promise<boolean> {
  const written = navigator.clipboard?.writeText(text).then(() => true)
  if (await written?.catch(() => false)) return true
  const before = document.activeElement
  const field = document.createElement('textarea')
  field.value = text
  // Outside an open dialog nothing can be selected.
  const place = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
  place.append(field)
  field.select()
  const isDone = document.execCommand('copy')
  field.remove()
  if (before instanceof HTMLElement) before.focus()
  return isDone
}
