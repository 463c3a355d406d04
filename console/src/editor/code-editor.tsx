/** The editor for text, JSON or YAML, on CodeMirror: written, or only read. */
import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { search, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'preact/hooks'

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--succeeded)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--waiting)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: 'var(--muted)' },
])

const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--bg)', fontSize: 'var(--dense)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--code)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)' },
  '::selection': { backgroundColor: 'var(--running-tint)' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--surface)', borderRight: '1px solid var(--line)' },
  '.cm-searchMatch': { backgroundColor: 'var(--warning-tint)' },
  '.cm-panels': { color: 'var(--text)', backgroundColor: 'var(--surface)', borderColor: 'var(--line)' },
  '.cm-panel input, .cm-panel button': { fontSize: 'var(--dense)', minHeight: '1.625rem' },
  '.cm-textfield, .cm-button, .cm-tooltip': { color: 'var(--text)', background: 'var(--bg)', border: '1px solid var(--control)' },
  '.cm-tooltip-hover, .cm-tooltip .cm-completionInfo': { maxWidth: '44ch', padding: '0.375rem 0.5rem', fontFamily: 'inherit' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { color: 'var(--on-accent)', backgroundColor: 'var(--accent)' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--failed)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warning)' },
  '.cm-lintRange-error': { backgroundImage: 'none', borderBottom: '2px solid var(--failed)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', borderBottom: '2px dotted var(--warning)' },
})

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
    theme,
    syntaxHighlighting(colours),
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

interface CodeEditorProps {
  /** A text that is written begins with it; one that is read follows it. */
  readonly text: string
  readonly label: string
  /** Without it, the text is only read. */
  readonly onChange?: (text: string) => void
}

export function CodeEditor({ text, label, onChange }: CodeEditorProps) {
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
