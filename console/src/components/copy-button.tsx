/** Copies a text and says so. */
import { useState } from 'preact/hooks'
import { words } from '../words.ts'
import { Icon } from './icon.tsx'

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await copyText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <button
      type="button"
      class="icon-button small"
      onClick={() => void copy()}
      aria-label={copied ? words.copied : label}
      title={label}
    >
      <Icon name={copied ? 'check' : 'copy'} />
    </button>
  )
}

/** Pages without HTTPS have no clipboard of their own. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}
