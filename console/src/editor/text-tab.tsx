/** Text of the draft, JSON or YAML: what can be read flows into the draft while it is typed. */
import { setDiagnostics } from '@codemirror/lint'
import { EditorView } from '@codemirror/view'
import { effect } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { Segments } from '../components/tabs.tsx'
import { codeExtensions } from './code-editor.tsx'
import { findRanges, hasComments, readText, type TextFormat } from './definition-text.ts'
import type { TabProps } from './draft.ts'
import { helpExtensions, toDiagnostics } from './text-help.ts'
import { TextSession } from './text-session.ts'

const formats = [
  { id: 'json', label: 'JSON' },
  { id: 'yaml', label: 'YAML' },
] as const
/** What is typed is read after this pause. */
const readDelayMs = 250

export function TextTab({ draft }: TabProps) {
  const { query } = useLocation()
  const change = useQueryChange()
  const broken = draft.unreadable.value
  const format: TextFormat = broken?.format ?? (query['format'] === 'yaml' ? 'yaml' : 'json')
  const choose = (id: TextFormat) => {
    draft.readText?.()
    // Text that cannot be read cannot be written in the other format either.
    if ((draft.unreadable.peek()?.format ?? id) === id) change({ format: id === 'json' ? undefined : id })
  }
  const [hasComments, setHasComments] = useState(false)
  const isReadOnly = draft.readOnly.value !== undefined
  const revert = () => {
    draft.readText?.()
    draft.unreadable.value = undefined
  }
  return (
    <div class="text-view">
      <div class="toolbar">
        <Segments label="Format of the text" options={formats} selected={format} onSelect={choose} />
        <div class="grow row" aria-live="polite">
          {broken === undefined ? (
            <p class="muted hide-phone">
              Ctrl Space completes, F8 goes to the next problem, Ctrl F searches. Esc, then Tab, leaves the text.
            </p>
          ) : (
            <>
              <span class="status-text is-failed">
                <Icon name="warn" /> <span>{broken.message}</span>
              </span>
              <Button small onClick={revert}>
                Back to the last readable text
              </Button>
            </>
          )}
        </div>
      </div>
      {hasComments && <Banner tone="warning">Comments are not stored: they are lost on save.</Banner>}
      <TextEditor
        key={`${format} ${isReadOnly}`}
        draft={draft}
        format={format}
        isReadOnly={isReadOnly}
        onComments={setHasComments}
      />
    </div>
  )
}

interface TextEditorProps extends TabProps {
  readonly format: TextFormat
  readonly isReadOnly: boolean
  readonly onComments: (hasComments: boolean) => void
}

function TextEditor(props: TextEditorProps) {
  const holder = useRef<HTMLDivElement>(null)
  useEffect(() => openText(holder.current as HTMLDivElement, props), [])
  return <div class="code-box" ref={holder} />
}

/** @returns what closes it; what was typed last is read then */
function openText(parent: HTMLElement, { draft, format, isReadOnly, onComments }: TextEditorProps): () => void {
  const session = new TextSession(draft, format)
  let timer: ReturnType<typeof setTimeout> | undefined
  const read = () => {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = undefined
    session.edit(view.state.doc.toString(), performance.now())
    onComments(hasComments(view.state.doc.toString()))
  }
  const isTyped = EditorView.updateListener.of((update) => {
    if (!update.docChanged || update.transactions.every((transaction) => transaction.isUserEvent('outside'))) return
    clearTimeout(timer)
    timer = setTimeout(read, readDelayMs)
  })
  const label = `Pipeline as ${format.toUpperCase()}`
  const extensions = [...helpExtensions(draft, format), ...codeExtensions(label, isReadOnly), isTyped]
  const view = new EditorView({ parent, doc: session.text, extensions })
  onComments(hasComments(view.state.doc.toString()))
  const stops = followDraft(view, session, draft)
  draft.readText = read
  return () => {
    read()
    draft.readText = undefined
    for (const stop of stops) stop()
    view.destroy()
  }
}

/** Shows changes from outside, what is wrong, and the place that is wanted. */
function followDraft(view: EditorView, session: TextSession, { problems, unreadable, shown }: TabProps['draft']) {
  const textNow = () => view.state.doc.toString()
  return [
    effect(() => {
      const text = session.outsideText()
      if (text !== undefined) view.dispatch({ changes: changeBetween(textNow(), text), userEvent: 'outside' })
    }),
    effect(() => {
      void unreadable.value
      view.dispatch(setDiagnostics(view.state, toDiagnostics(textNow(), problems.value)))
    }),
    effect(() => {
      const path = shown.value
      if (path === undefined) return
      shown.value = undefined
      const text = textNow()
      const parsed = readText(text)
      // In text that cannot be read, to the error.
      const range = 'problem' in parsed ? parsed.problem : findRanges(text)(path)
      view.dispatch({ selection: { anchor: Math.min(range?.from ?? 0, text.length) }, scrollIntoView: true })
      view.focus()
    }),
  ]
}

/** The smallest replacement, so that the cursor keeps its place. */
function changeBetween(before: string, after: string): { from: number; to: number; insert: string } {
  const shorter = Math.min(before.length, after.length)
  let from = 0
  while (from < shorter && before[from] === after[from]) from++
  let end = 0
  while (end < shorter - from && before.at(-1 - end) === after.at(-1 - end)) end++
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) }
}
