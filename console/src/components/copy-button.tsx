/** Copies a text and says so. */
import { useState } from 'preact/hooks'

import { IconButton } from './button.tsx'

const notCopied = 'The browser refused to copy; select the text instead.'

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState<boolean | undefined>(undefined)
  const copy = async () => {
    setCopied(await copyText(text))
    setTimeout(() => setCopied(undefined), 2000)
  }
  return (
    <IconButton
      icon={copied === undefined ? 'copy' : copied ? 'check' : 'warn'}
      label={copied === undefined ? label : copied ? 'Copied' : notCopied}
      small
      onClick={() => void copy()}
      title={copied === false ? notCopied : label}
    />
  )
}

/** Pages without HTTPS have no clipboard of their own. @returns whether it was copied */
export async function copyText(text: string): Promise<boolean> {
  const isCopied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  if (isCopied) return true
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
