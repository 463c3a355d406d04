/** A field of manifests, edited as YAML of one or several documents. */
import type { ComponentType } from 'preact'
import { useRef } from 'preact/hooks'
import { useKeptText } from './inputs.tsx'
import { isSameValue } from './json-path.ts'
import { loadCodeEditor, loadText } from './lazy.tsx'

interface ManifestsInputProps {
  readonly label: string
  /** The field takes one object instead of a list. */
  readonly isOne: boolean
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

export async function loadManifestsInput() {
  const [yaml, Editor] = await Promise.all([loadText(), loadCodeEditor()])
  return (props: ManifestsInputProps) => <ManifestsInput {...props} yaml={yaml} Editor={Editor} />
}

interface LoadedProps extends ManifestsInputProps {
  readonly yaml: Awaited<ReturnType<typeof loadText>>
  readonly Editor: ComponentType<{ text: string; label: string; onChange: (text: string) => void }>
}

/** Text that cannot be read stays in the field and keeps the draft from being saved; the value is as it was. */
function ManifestsInput({ label, isOne, value, onChange, yaml, Editor }: LoadedProps) {
  const { kept, keep } = useKeptText()
  const begin = (version: number) => {
    const documents = value === undefined ? [] : [value].flat()
    return { value, text: kept?.text ?? yaml.writeDocuments(documents), version }
  }
  const shown = useRef(begin(0))
  // An undo changes the value from outside; the text then begins anew.
  if (!isSameValue(shown.current.value, value)) shown.current = begin(shown.current.version + 1)
  const read = (text: string) => {
    const parsed = yaml.readDocuments(text)
    if ('problem' in parsed) return keep(text, parsed.problem)
    keep(undefined, '')
    const next = toValue(parsed.documents, isOne || (value !== undefined && !Array.isArray(value)))
    shown.current = { ...shown.current, value: next }
    onChange(next)
  }
  return <Editor key={shown.current.version} text={shown.current.text} label={label} onChange={read} />
}

function toValue(documents: readonly unknown[], isOne: boolean): unknown {
  if (documents.length === 0) return undefined
  return isOne && documents.length === 1 ? documents[0] : documents
}
