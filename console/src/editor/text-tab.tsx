/** Text of the draft, JSON or YAML: what can be read flows into the draft while it is typed. */
import { syntaxTree } from '@codemirror/language'
import { setDiagnostics } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { effect } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { Segments } from '../components/tabs.tsx'
import { writeExtensions } from './code-mirror.ts'
import { readDefinitionFile } from './definition-file.ts'
import type { Draft, TabProps } from './draft.ts'
import { toDraft } from './history.ts'
import { helpExtensions, toDiagnostics } from './text-help.ts'
import { TextSession } from './text-session.ts'
import { type TextFormat, yamlText } from './yaml-text.ts'

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
          {broken === undefined ? <Hint /> : <Broken message={broken.message} onRevert={revert} />}
        </div>
        {!isReadOnly && <ImportFile draft={draft} onImported={choose} />}
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

function Hint() {
  return (
    <p class="muted hide-phone">
      Ctrl Space completes, F8 goes to the next problem, Ctrl F searches. Esc, then Tab, leaves the text.
    </p>
  )
}

function Broken({ message, onRevert }: { message: string; onRevert: () => void }) {
  return (
    <>
      <span class="status-text is-failed">
        <Icon name="warn" /> <span>{message}</span>
      </span>
      <Button small onClick={onRevert}>
        Back to the last readable text
      </Button>
    </>
  )
}

interface ImportFileProps {
  readonly draft: Draft
  readonly onImported: (format: TextFormat) => void
}

/** Replaces the draft by what a file says; it stays the same pipeline. */
function ImportFile({ draft, onImported }: ImportFileProps) {
  const input = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<string | undefined>(undefined)
  const open = async (file: File | undefined) => {
    setError(undefined)
    if (file === undefined) return
    try {
      const { text, format, parsed } = await readDefinitionFile(file)
      draft.readText?.()
      if (parsed.kind === 'definition') {
        draft.unreadable.value = undefined
        draft.replace(toDraft(parsed.definition, draft.definition.peek()), `Import of ${file.name}`)
      } else draft.unreadable.value = { text, format, message: `${file.name} is no pipeline. ${parsed.problem.message}` }
      onImported(format)
    } catch (cause) {
      setError((cause as Error).message)
    }
  }
  return (
    <>
      {error !== undefined && (
        <span class="error" role="alert">
          {error}
        </span>
      )}
      <input
        ref={input}
        type="file"
        hidden
        accept=".json,.yaml,.yml,.txt,application/json"
        onChange={(event) => {
          void open(event.currentTarget.files?.[0])
          // The same file can be opened again.
          event.currentTarget.value = ''
        }}
      />
      <Button small onClick={() => input.current?.click()}>
        Import a file
      </Button>
    </>
  )
}

interface TextEditorProps {
  readonly draft: Draft
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
    onComments(hasComments(view))
  }
  const isTyped = EditorView.updateListener.of((update) => {
    if (!update.docChanged || update.transactions.every((transaction) => transaction.isUserEvent('outside'))) return
    clearTimeout(timer)
    timer = setTimeout(read, readDelayMs)
  })
  const extensions = [
    ...helpExtensions(draft, format),
    ...writeExtensions(yamlText.extension, `Pipeline as ${format.toUpperCase()}`),
    EditorState.readOnly.of(isReadOnly),
    isTyped,
  ]
  const view = new EditorView({ parent, doc: session.text, extensions })
  onComments(hasComments(view))
  const stops = [
    effect(() => follow(view, session)),
    effect(() => mark(view, session, draft)),
    effect(() => show(view, session, draft)),
  ]
  draft.readText = read
  return () => {
    read()
    draft.readText = undefined
    for (const stop of stops) stop()
    view.destroy()
  }
}

function follow(view: EditorView, session: TextSession): void {
  const text = session.outsideText()
  if (text === undefined) return
  view.dispatch({ changes: changeBetween(view.state.doc.toString(), text), userEvent: 'outside' })
}

/** Marks what is wrong. */
function mark(view: EditorView, session: TextSession, draft: Draft): void {
  draft.problems.value
  draft.unreadable.value
  const text = view.state.doc.toString()
  view.dispatch(setDiagnostics(view.state, toDiagnostics(text, session.problemOf(text), draft)))
}

/** The cursor goes to what is wanted; in text that cannot be read, to the error. */
function show(view: EditorView, session: TextSession, draft: Draft): void {
  const path = draft.shown.value
  if (path === undefined) return
  draft.shown.value = undefined
  const text = view.state.doc.toString()
  const range = session.problemOf(text) ?? yamlText.findRanges(text)(path)
  view.dispatch({ selection: { anchor: Math.min(range?.from ?? 0, text.length) }, scrollIntoView: true })
  view.focus()
}

/** The smallest replacement, so that the cursor keeps its place. */
function changeBetween(before: string, after: string): { from: number; to: number; insert: string } {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before[start] === after[start]) start++
  let end = 0
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) }
}

function hasComments(view: EditorView): boolean {
  let found = false
  syntaxTree(view.state).iterate({
    enter: ({ name }) => {
      if (name === 'Comment') found = true
      return !found
    },
  })
  return found
}
