/** The editor for text, JSON or YAML, on CodeMirror: written, or only read. */
import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { search, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view'
import { classHighlighter } from '@lezer/highlight'
import { useEffect, useRef } from 'preact/hooks'

/** Tab stays with the page, so that the keyboard leads out of the text. */
export function codeExtensions(label: string, isReadOnly: boolean): Extension[] {
  const written = [
    history(),
    closeBrackets(),
    indentOnInput(),
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap]),
  ]
  return [
    // The styles of the editor are elements with the nonce of the page.
    EditorView.cspNonce.of(document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''),
    syntaxHighlighting(classHighlighter),
    yaml(),
    lineNumbers(),
    // Control characters and those that turn the direction become visible.
    highlightSpecialChars(),
    // The keyboard scrolls the text, also where it cannot be changed.
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    EditorState.readOnly.of(isReadOnly),
    search({ top: true }),
    keymap.of(searchKeymap),
    ...(isReadOnly ? [] : written),
  ]
}

/** Begins with the text; without `onChange` the text is only read, and followed. */
export function CodeEditor({ text, label, onChange }: { text: string; label: string; onChange?: (text: string) => void }) {
  const holder = useRef<HTMLDivElement>(null)
  const changed = useRef(onChange)
  changed.current = onChange
  useEffect(
    () => {
      const onUpdate = EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged) changed.current?.(state.doc.toString())
      })
      const extensions = [...codeExtensions(label, onChange === undefined), onUpdate]
      const view = new EditorView({ parent: holder.current as HTMLDivElement, doc: text, extensions })
      return () => view.destroy()
    },
    onChange === undefined ? [text] : [],
  )
  return <div class="code-box" ref={holder} />
}
