/** The editor for text, JSON or YAML, on CodeMirror: written, or only read. */
import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { foldGutter, foldKeymap, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { unifiedMergeView } from '@codemirror/merge'
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
    EditorView.cspNonce.of(
      document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '',
    ),
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
    ...(isReadOnly ? [foldGutter(), keymap.of(foldKeymap), EditorView.lineWrapping] : written),
  ]
}

const differenceView = {
  mergeControls: false,
  syntaxHighlightDeletions: false,
  collapseUnchanged: { margin: 3 },
}

interface CodeEditorProps {
  readonly text: string
  readonly label: string
  /** Without it the text is only read, and followed. */
  readonly onChange?: (text: string) => void
  /** Shows what differs from it. */
  readonly original?: string
}

/** Begins with the text. */
export function CodeEditor({ text, label, onChange, original }: CodeEditorProps) {
  const holder = useRef<HTMLDivElement>(null)
  const changed = useRef(onChange)
  changed.current = onChange
  useEffect(
    () => {
      const onUpdate = EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged) changed.current?.(state.doc.toString())
      })
      const difference =
        original === undefined ? [] : unifiedMergeView({ ...differenceView, original })
      const extensions = [...codeExtensions(label, onChange === undefined), onUpdate, difference]
      const view = new EditorView({
        parent: holder.current as HTMLDivElement,
        doc: text,
        extensions,
      })
      return () => view.destroy()
    },
    onChange === undefined ? [text] : [],
  )
  return <div class="code-box" ref={holder} />
}
