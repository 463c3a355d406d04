/** Parts of CodeMirror that the views of the editor share: theme, colours, languages. */
import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import {
  bracketMatching,
  codeFolding,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--succeeded)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--waiting)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: 'var(--muted)' },
  { tag: tags.invalid, color: 'var(--failed)' },
])

const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--bg)', fontSize: 'var(--dense)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--code)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)', borderLeftWidth: '2px' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, ::selection': {
    backgroundColor: 'var(--running-tint)',
  },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--surface)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'transparent', boxShadow: 'inset 0 0 0 1px var(--line)' },
  '.cm-activeLineGutter': { color: 'var(--text)', backgroundColor: 'var(--sunken)' },
  '.cm-selectionMatch, .cm-searchMatch': { backgroundColor: 'var(--warning-tint)' },
  '.cm-searchMatch-selected': { outline: '1px solid var(--warning)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--sunken)',
    outline: '1px solid var(--control)',
  },
  '.cm-panels': { color: 'var(--text)', backgroundColor: 'var(--surface)', borderColor: 'var(--line)' },
  '.cm-panel input, .cm-panel button': { fontSize: 'var(--dense)', minHeight: '1.625rem' },
  '.cm-textfield': { color: 'var(--text)', backgroundColor: 'var(--bg)', border: '1px solid var(--control)' },
  '.cm-button': { color: 'var(--text)', background: 'var(--bg)', border: '1px solid var(--control)' },
  '.cm-foldPlaceholder': { color: 'var(--muted)', backgroundColor: 'var(--sunken)', borderColor: 'var(--line)' },
  '.cm-tooltip': {
    color: 'var(--text)',
    backgroundColor: 'var(--bg)',
    border: '1px solid var(--control)',
    borderRadius: 'var(--radius)',
  },
  '.cm-tooltip-hover, .cm-tooltip .cm-completionInfo': { maxWidth: '44ch', padding: '0.375rem 0.5rem', fontFamily: 'inherit' },
  '.cm-tooltip-autocomplete > ul > li': { padding: '0.1875rem 0.5rem' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { color: 'var(--on-accent)', backgroundColor: 'var(--accent)' },
  '.cm-completionDetail': { fontStyle: 'normal', opacity: 0.85 },
  '.cm-diagnostic': { padding: '0.25rem 0.5rem' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--failed)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warning)' },
  '.cm-lintRange-error': { backgroundImage: 'none', borderBottom: '2px solid var(--failed)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', borderBottom: '2px dotted var(--warning)' },
})

/** The styles of the editor are elements with the nonce of the page. */
function nonceOfPage(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
}

/** For text that is read. */
export function readExtensions(language: Extension, label: string): Extension[] {
  return [
    EditorView.cspNonce.of(nonceOfPage()),
    theme,
    syntaxHighlighting(colours),
    language,
    lineNumbers(),
    // Control characters and those that turn the direction become visible.
    highlightSpecialChars(),
    // The keyboard scrolls the text, also where it cannot be changed.
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    EditorState.tabSize.of(2),
    search({ top: true }),
    keymap.of([...searchKeymap, ...foldKeymap]),
  ]
}

/** For text that is written. Tab stays with the page, so that the keyboard leads out of it. */
export function writeExtensions(language: Extension, label: string): Extension[] {
  return [
    ...readExtensions(language, label),
    history(),
    drawSelection(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    bracketMatching(),
    closeBrackets(),
    codeFolding(),
    foldGutter(),
    indentOnInput(),
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap]),
  ]
}
