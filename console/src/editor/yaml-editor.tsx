/** YAML in the text editor: written, or only read. */
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { useEffect, useRef } from 'preact/hooks'
import { readExtensions, writeExtensions } from './code-mirror.ts'

export interface YamlEditorProps {
  readonly language: Extension
  /** A text that is written begins with it; one that is read follows it. */
  readonly text: string
  readonly label: string
  /** Without it, the text is only read. */
  readonly onChange?: (text: string) => void
}

export function YamlEditor({ language, text, label, onChange }: YamlEditorProps) {
  const holder = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | undefined>(undefined)
  const changed = useRef(onChange)
  changed.current = onChange
  useEffect(() => {
    const written = [
      ...writeExtensions(language, label),
      EditorView.updateListener.of(({ docChanged, state }) => docChanged && changed.current?.(state.doc.toString())),
    ]
    const read = [...readExtensions(language, label), EditorState.readOnly.of(true)]
    const parent = holder.current as HTMLDivElement
    view.current = new EditorView({ parent, doc: text, extensions: onChange === undefined ? read : written })
    return () => view.current?.destroy()
  }, [])
  useEffect(() => {
    const { current } = view
    if (onChange !== undefined || current === undefined || current.state.doc.toString() === text) return
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: text } })
  }, [text])
  return <div class="code-box" ref={holder} />
}
