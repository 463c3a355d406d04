/** Text of the draft, JSON or YAML: what can be read flows into the draft while it is typed. */

import { setDiagnostics } from '@codemirror/lint'
import { EditorView } from '@codemirror/view'
import { effect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useQueryChange } from '../address.ts'
import { Banner, Button } from '../components/button.tsx'
import { Segments } from '../components/tabs.tsx'
import { StatusText } from '../components/text.tsx'
import { codeExtensions } from './code-editor.tsx'
import {
  findRanges,
  openTextSession,
  readText,
  type TextFormat,
  type TextSession,
} from './definition-text.ts'
import type { Draft, TabProps } from './draft.ts'
import { helpExtensions, toDiagnostics } from './text-help.ts'

const formats = [
  { id: 'json', label: 'JSON' },
  { id: 'yaml', label: 'YAML' },
] as const
/** What is typed is read after this pause. */
const readDelayMs = 250

export function TextTab({ draft }: TabProps) {
  const { query } = useLocation()
  const change = useQueryChange()
  const holder = useRef<HTMLDivElement>(null)
  const broken = draft.unreadable.value
  const format: TextFormat = broken?.format ?? (query['format'] === 'yaml' ? 'yaml' : 'json')
  const isReadOnly = draft.readOnly.value !== undefined
  useEffect(() => openText(holder.current as HTMLDivElement, draft, format), [format, isReadOnly])
  const choose = (id: TextFormat) => {
    draft.readText?.()
    // Text that cannot be read cannot be written in the other format either.
    if ((draft.unreadable.peek()?.format ?? id) === id)
      change({ format: id === 'json' ? undefined : id })
  }
  const revert = () => {
    draft.readText?.()
    draft.unreadable.value = undefined
  }
  return (
    <div class="text-view">
      <div class="toolbar">
        <Segments
          label="Format of the text"
          options={formats}
          selected={format}
          onSelect={choose}
        />
        <div class="grow row" aria-live="polite">
          {broken === undefined ? (
            <p class="muted hide-phone">
              Ctrl Space completes, F8 goes to the next problem, Ctrl F searches. Esc, then Tab,
              leaves the text.
            </p>
          ) : (
            <>
              <StatusText status={{ kind: 'failed', word: broken.message }} />
              <Button small onClick={revert}>
                Back to the last readable text
              </Button>
            </>
          )}
        </div>
      </div>
      {draft.hasComments.value && (
        <Banner tone="warning">Comments are not stored: they are lost on save.</Banner>
      )}
      <div class="code-box" ref={holder} />
    </div>
  )
}

/** @returns what closes it; what was typed last is read then */
function openText(parent: HTMLElement, draft: Draft, format: TextFormat) {
  const session = openTextSession(draft, format)
  let timer: ReturnType<typeof setTimeout> | undefined
  const read = () => {
    if (timer !== undefined) session.edit(view.state.doc.toString())
    clearTimeout(timer)
    timer = undefined
  }
  const isTyped = EditorView.updateListener.of(({ docChanged, transactions }) => {
    if (!docChanged || transactions.every((transaction) => transaction.isUserEvent('outside')))
      return
    clearTimeout(timer)
    timer = setTimeout(read, readDelayMs)
  })
  const label = `Pipeline as ${format.toUpperCase()}`
  const extensions = [
    ...helpExtensions(draft, format),
    ...codeExtensions(label, draft.readOnly.peek() !== undefined),
    isTyped,
  ]
  const view = new EditorView({ parent, doc: session.text, extensions })
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
function followDraft(
  view: EditorView,
  session: TextSession,
  { problems, unreadable, shown }: Draft,
) {
  const textNow = () => view.state.doc.toString()
  return [
    effect(() => {
      const insert = session.outsideText()
      if (insert === undefined) return
      // The cursor keeps its place.
      const anchor = Math.min(view.state.selection.main.head, insert.length)
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert },
        selection: { anchor },
        userEvent: 'outside',
      })
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
      // In text that cannot be read, to the error.
      const range = readText(text).problem ?? findRanges(text)(path)
      view.dispatch({
        selection: { anchor: Math.min(range?.from ?? 0, text.length) },
        scrollIntoView: true,
      })
      view.focus()
    }),
  ]
}
